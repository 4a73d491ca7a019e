"""One small program for each language and each thing that can become of one. Data for `test_languages.py`.

`right` reads integers to the end of its input and prints their sum; `big` prints every line that it reads;
`exits` prints and ends with status 3. Java's are told on their input which end is wanted.
"""

from __future__ import annotations

C = {
    "right": '#include <stdio.h>\nint main(void){long s=0,x;while(scanf("%ld",&x)==1)s+=x;printf("%ld\\n",s);}',
    "wrong": "int main(void){ return 0 }",
    "crash": "#include <stdlib.h>\nint main(void){abort();}",
    "loop": "int main(void){volatile int x=0;for(;;)x++;}",
    "memory": "#include <stdlib.h>\n#include <string.h>\n#include <stdio.h>\n"
    'int main(void){for(;;){char*p=malloc(1<<20);if(!p){fputs("std::bad_alloc",stderr);abort();}memset(p,1,1<<20);}}',
    "flood": '#include <stdio.h>\nint main(void){for(;;)puts("flood");}',
    "big": "#include <stdio.h>\nint main(void){int c;while((c=getchar())!=EOF)putchar(c);}",
    "exits": '#include <stdio.h>\nint main(void){puts("said");return 3;}',
}

CPP = {
    "right": '#include <cstdio>\nint main(){long s=0,x;while(scanf("%ld",&x)==1)s+=x;printf("%ld\\n",s);}',
    "wrong": "int main(){ undeclared(); }",
    "crash": "#include <vector>\nint main(){std::vector<int> v;return v.at(3);}",
    "loop": "int main(){volatile int x=0;for(;;)x++;}",
    "memory": "#include <vector>\n#include <cstdio>\n"
    'int main(){std::vector<std::vector<char>> v;for(;;){v.emplace_back(1<<20,1);}puts("");}',
    "flood": '#include <cstdio>\nint main(){for(;;)puts("flood");}',
    "big": "#include <iostream>\n#include <string>\nint main(){std::ios::sync_with_stdio(false);std::cin.tie(0);"
    "std::string s;while(std::getline(std::cin,s))std::cout<<s<<'\\n';}",
    "exits": '#include <bits/stdc++.h>\nint main(){std::cout<<"said\\n";return 3;}',
}

_JAVA = "import java.io.*;\nimport java.util.*;\npublic class Main {{ public static void main(String[] args) throws Exception {{ {} }} }}"

# One program, told by its input which: the compiler takes half a second for any.
_JAVA_ENDS = _JAVA.format(
    'switch (new Scanner(System.in).next()) { case "crash": int[] a = new int[2]; a[args.length + 5] = 1; break;'
    ' case "loop": long x = 0; while (true) x++;'
    ' case "memory": List<byte[]> all = new ArrayList<>(); while (true) all.add(new byte[1 << 20]);'
    ' case "flood": while (true) System.out.println("flood"); }'
)

JAVA = {
    "right": "import java.util.*;\nclass Helper { static long add(long a, long b) { return a + b; } }\n"
    "public class Sum { public static void main(String[] args) { Scanner in = new Scanner(System.in); long s = 0;\n"
    "while (in.hasNextLong()) s = Helper.add(s, in.nextLong()); System.out.println(s); } }",
    "wrong": _JAVA.format('int x = "text";'),
    "crash": _JAVA_ENDS,
    "loop": _JAVA_ENDS,
    "memory": _JAVA_ENDS,
    "flood": _JAVA_ENDS,
    "big": _JAVA.format(
        "BufferedReader in = new BufferedReader(new InputStreamReader(System.in));"
        "PrintWriter out = new PrintWriter(new BufferedWriter(new OutputStreamWriter(System.out)));"
        "String s; while ((s = in.readLine()) != null) out.println(s); out.flush();"
    ),
    "exits": _JAVA.format('System.out.println("said"); System.exit(3);'),
}

JAVASCRIPT = {
    "right": "let text='';process.stdin.on('data',d=>text+=d);process.stdin.on('end',()=>"
    "console.log(text.split(/\\s+/).filter(Boolean).map(Number).reduce((a,b)=>a+b,0)))",
    "wrong": "let = = 3",
    "crash": "null.x",
    "loop": "for(;;);",
    "memory": "const all=[];for(;;)all.push(new Array(1<<17).fill(1.5))",
    "flood": "for(;;)require('fs').writeSync(1,'flood\\n'.repeat(1000))",
    "big": "process.stdout.write(require('fs').readFileSync('/dev/stdin','utf8'))",
    "exits": "console.log('said');process.exit(3)",
}

_GO = 'package main\n\nimport (\n\t"bufio"\n\t"fmt"\n\t"io"\n\t"os"\n)\n\nvar _, _, _, _ = bufio.NewReader, fmt.Println, io.Copy, os.Exit\n\nfunc main() {{\n{}\n}}\n'

GO = {
    "right": _GO.format(
        "s, x := 0, 0\nin := bufio.NewReader(os.Stdin)\nfor {\nif _, e := fmt.Fscan(in, &x); e != nil {\nbreak\n}\ns += x\n}\nfmt.Println(s)"
    ),
    "wrong": _GO.format("x := 3"),
    "crash": _GO.format("var a []int\n_ = a[3]"),
    "loop": _GO.format("for {\n}"),
    "memory": _GO.format(
        "var all [][]byte\nfor {\nb := make([]byte, 1<<20)\nfor i := range b {\nb[i] = 1\n}\nall = append(all, b)\n}"
    ),
    "flood": _GO.format('for {\nfmt.Println("flood")\n}'),
    "big": _GO.format("io.Copy(os.Stdout, os.Stdin)"),
    "exits": _GO.format('fmt.Println("said")\nos.Exit(3)'),
}

RUST = {
    "right": "use std::io::*; fn main(){let mut s=String::new();stdin().read_to_string(&mut s).unwrap();"
    'println!("{}",s.split_whitespace().map(|x|x.parse::<i64>().unwrap()).sum::<i64>());}',
    "wrong": 'fn main(){ let x: i32 = "text"; }',
    "crash": 'fn main(){ let v: Vec<i32> = Vec::new(); println!("{}", v[std::env::args().count()]); }',
    "loop": "fn main(){ let mut x = 0u64; loop { x = std::hint::black_box(x + 1); } }",
    "memory": "fn main(){ let mut all: Vec<Vec<u8>> = Vec::new(); loop { all.push(vec![1u8; 1 << 20]); } }",
    "flood": 'fn main(){ loop { println!("flood"); } }',
    "big": "fn main(){ std::io::copy(&mut std::io::stdin(), &mut std::io::stdout()).unwrap(); }",
    "exits": 'fn main(){ println!("said"); std::process::exit(3); }',
}

BASH = {
    "right": "s=0\nwhile read -r line; do for x in $line; do s=$((s + x)); done; done\necho $s | cat",
    "wrong": "if then fi",
    "crash": "kill -SEGV $$",
    "loop": "while :; do :; done",
    "memory": "x=xxxxxxxxxxxxxxxx\nwhile :; do x=$x$x; done",
    "flood": "yes flood",
    "big": "sort -s -k 1,1 | cat",
    "exits": "echo said\nexit 3",
}

SQL = {
    "right": "SELECT sum(x) FROM given;",
    "wrong": "SELEC 1;",
    "crash": "SELECT * FROM nothing;",
    "loop": "WITH RECURSIVE c(x) AS (VALUES(1) UNION ALL SELECT x+1 FROM c) SELECT max(x) FROM c;",
    "memory": "SELECT length(hex(zeroblob(400000000)));",
    "flood": "WITH RECURSIVE c(x) AS (VALUES(1) UNION ALL SELECT x+1 FROM c) SELECT 'flood' FROM c;",
    "big": "SELECT x FROM given ORDER BY rowid;",
    "exits": "SELECT 'said'; SELECT * FROM nothing;",
}

PROGRAMS = {
    "c": C,
    "cpp": CPP,
    "java": JAVA,
    "javascript": JAVASCRIPT,
    "go": GO,
    "rust": RUST,
    "bash": BASH,
    "sql": SQL,
}

// Prepares a Go source for the compiler: finds the tests of a file, and replaces or serves one function.
//
//	prepare SOURCE OUTPUT DIRECTIVE
//
// The directive, or else the first line of the source, selects the action: `//rewardkit:test`, `//rewardkit:ask NAME` for tests whose
// function NAME is a stub, or `//rewardkit:serve NAME` for a program whose function NAME answers calls.
package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"sort"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Packages that a program may use without importing them.
var known = map[string]string{"rand": "math/rand", "utf8": "unicode/utf8", "md5": "crypto/md5", "big": "math/big",
	"heap": "container/heap", "list": "container/list", "bits": "math/bits"}

func init() {
	for _, name := range strings.Fields("bufio bytes errors fmt math os reflect regexp sort strconv strings sync time unicode") {
		known[name] = name
	}
}

const imports = `_flag "flag"; _fmt "fmt"; _os "os"; _reflect "reflect"; _testing "testing"; ` +
	`_testdeps "testing/internal/testdeps"; _time "time"`

const runner = `
func init() {
	started := _time.Now()
	tests := []_testing.InternalTest{%s}
	targets := []_testing.InternalFuzzTarget{%s}
	all := _testing.MainStart(_testdeps.TestDeps{}, tests, nil, targets, nil)
	_flag.Set("test.paniconexit0", "true")
	code := func() int { %s }()
	if code == 0 {
		_fmt.Printf("ok  \tcommand-line-arguments\t%%.3fs\n", _time.Since(started).Seconds())
	}
	_os.Exit(code)
}

var _ = _reflect.ValueOf
`
const runTestMain = `TestMain(all); return int(_reflect.ValueOf(all).Elem().FieldByName("exitCode").Int())`

// An edit replaces the text from one position to another.
type edit struct {
	from, to int
	text     string
}

type source struct {
	text  string
	file  *ast.File
	set   *token.FileSet
	edits []edit
}

func fail(format string, values ...interface{}) {
	fmt.Fprintf(os.Stderr, "error: "+format+"\n", values...)
	os.Exit(1)
}

func read(text string) *source {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, "main.go", text, 0)
	if err != nil && file != nil && file.Name.Name == "_" || err != nil && strings.Contains(err.Error(), "expected 'package'") {
		text = "package main; " + text
		set = token.NewFileSet()
		file, err = parser.ParseFile(set, "main.go", text, 0)
	}
	if err != nil {
		fail("%v", err)
	}
	return &source{text: text, file: file, set: set}
}

func (s *source) at(place token.Pos) int { return s.set.Position(place).Offset }

func (s *source) slice(node ast.Node) string { return s.text[s.at(node.Pos()):s.at(node.End())] }

func (s *source) replace(from, to token.Pos, text string) {
	s.edits = append(s.edits, edit{s.at(from), s.at(to), text})
}

func (s *source) written() string {
	sort.SliceStable(s.edits, func(i, j int) bool { return s.edits[i].from > s.edits[j].from })
	text := s.text
	for _, each := range s.edits {
		text = text[:each.from] + each.text + text[each.to:]
	}
	return text
}

// Put the file into the package main, add missing imports and remove unused imports.
func (s *source) fixImports(more string) {
	used, seen := map[string]bool{}, map[string]bool{}
	for _, name := range s.file.Unresolved {
		used[name.Name] = true
	}
	for _, spec := range s.file.Imports {
		path := strings.Trim(spec.Path.Value, "\"`")
		name := path[strings.LastIndex(path, "/")+1:]
		if spec.Name != nil {
			name = spec.Name.Name
		}
		isStandard := !strings.Contains(strings.Split(path, "/")[0], ".")
		if (!used[name] || seen[name]) && isStandard && name != "_" && name != "." {
			if spec.Name != nil {
				s.replace(spec.Name.Pos(), spec.Name.End(), "_")
			} else {
				s.replace(spec.Path.Pos(), spec.Path.Pos(), "_ ")
			}
		}
		seen[name] = true
	}
	for name := range used {
		if path, ok := known[name]; ok && !seen[name] {
			more += fmt.Sprintf("; %s %q", name, path)
		}
	}
	s.replace(s.file.Name.Pos(), s.file.Name.End(), "main; import ("+strings.TrimPrefix(more, "; ")+")")
}

func (s *source) functions(do func(*ast.FuncDecl)) {
	for _, decl := range s.file.Decls {
		if function, ok := decl.(*ast.FuncDecl); ok && function.Recv == nil {
			do(function)
		}
	}
}

// Return true for a test of a kind, Test or Fuzz. The rest of its name does not start with a lower-case letter.
func isTest(function *ast.FuncDecl, kind string) bool {
	name := function.Name.Name
	if !strings.HasPrefix(name, kind) || function.Type.Params.NumFields() != 1 {
		return false
	}
	if _, ok := function.Type.Params.List[0].Type.(*ast.StarExpr); !ok {
		return false
	}
	first, _ := utf8.DecodeRuneInString(name[len(kind):])
	return name == kind || !unicode.IsLower(first)
}

func (s *source) runTests() string {
	tests, targets, run, main := "", "", "return all.Run()", "\nfunc main() {}\n"
	s.functions(func(function *ast.FuncDecl) {
		name := function.Name.Name
		switch {
		case name == "main":
			main = ""
		case name == "TestMain":
			run = runTestMain
		case isTest(function, "Test"):
			tests += fmt.Sprintf("{%q, %s}, ", name, name)
		case isTest(function, "Fuzz"):
			targets += fmt.Sprintf("{%q, %s}, ", name, name)
		}
	})
	if tests+targets == "" {
		fail("the file has no tests")
	}
	return fmt.Sprintf(runner, tests, targets, run) + main
}

// Replace the body of a function by a call to the program.
func (s *source) standIn(wanted string) {
	s.functions(func(function *ast.FuncDecl) {
		if function.Name.Name != wanted {
			return
		}
		given, results, returned, declared := "", "", "", ""
		for _, field := range function.Type.Params.List {
			for _, name := range field.Names {
				given += "&" + name.Name + ", "
			}
		}
		if function.Type.Results != nil {
			for place, field := range function.Type.Results.List {
				for i := 0; i < len(field.Names) || i == 0; i++ {
					name := fmt.Sprintf("rewardkit%dof%d", i, place)
					declared += fmt.Sprintf("var %s %s; ", name, s.slice(field.Type))
					results += "&" + name + ", "
					returned += name + ", "
				}
			}
		}
		call := fmt.Sprintf("rewardkitAsk([]interface{}{%s}, []interface{}{%s})", given, results)
		body := fmt.Sprintf("{ %s%s; return %s }", declared, call, strings.TrimSuffix(returned, ", "))
		s.replace(function.Body.Pos(), function.Body.End(), body)
	})
}

func main() {
	given, err := os.ReadFile(os.Args[1])
	if err != nil {
		fail("%v", err)
	}
	line, text := os.Args[3], string(given)
	if line == "" {
		line, text, _ = strings.Cut(text, "\n")
	}
	words := strings.Fields(line)
	s := read(text)
	more := ""
	if words[0] == "//rewardkit:serve" {
		s.functions(func(function *ast.FuncDecl) {
			if function.Name.Name == "main" {
				s.replace(function.Name.Pos(), function.Name.End(), "_")
			}
		})
		s.fixImports("")
		more = fmt.Sprintf("\nfunc init() { rewardkitServe(%s) }\nfunc main() {}\n", words[1])
	} else {
		more = s.runTests()
		if len(words) > 1 {
			s.standIn(words[1])
			s.fixImports(imports)
		} else {
			s.replace(s.file.Name.Pos(), s.file.Name.End(), "main; import ("+imports+")")
		}
	}
	if err := os.WriteFile(os.Args[2], []byte(s.written()+more), 0o666); err != nil {
		fail("%v", err)
	}
}

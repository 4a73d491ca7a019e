# What Bash scripts use: the first line of stdin names the features to play, the rest is their input.

# feature: prints_by_every_way
prints_by_every_way() {
  echo -e "a\tb" 'c  d' $'e\nf'
  echo -n "no newline"; echo
  printf '%05d|%-5s|%x|%.2f|%q\n' 42 ab 255 3.14159 'a b'
  cat <<EOF
$((1 + 2)) here $(echo nested)
EOF
  cat <<'EOF'
$not expanded
EOF
  cat <<< "here string"
  echo "to stderr" >&2
}
# feature: prints_much
prints_much() { for i in {1..20000}; do echo "$i $((i * 2))"; done; }
# feature: reads_lines, alone
reads_lines() {
  read -r a b; echo $((a + b))
  while IFS= read -r line || [[ -n $line ]]; do echo "[$line]"; done
}
# feature: reads_all, alone
reads_all() { text=$(cat); echo "${#text}"; }
# feature: reads_arrays, alone
reads_arrays() { mapfile -t lines; echo "${#lines[@]} ${lines[1]} ${lines[-1]}"; }
# feature: reads_dev_stdin, alone
reads_dev_stdin() { wc -l < /dev/stdin; }
# feature: filters_its_input, alone
filters_its_input() { tr a-z A-Z | grep -o '[A-Z]*' | sort -u | head -3 | cat -n; }
# feature: sums_its_input, alone
sums_its_input() { awk '{for (i = 1; i <= NF; i++) s += $i} END {printf "%.1f %d\n", s, NR}'; }
# feature: exits, alone
exits() { echo said; exit 7; }
# feature: fails_early, alone
fails_early() { set -euo pipefail; echo before; false | true; echo never; }
# feature: unset_names, alone
unset_names() { set -u; echo "$not_set"; }
# feature: traps, alone
traps() { trap 'echo at the end' EXIT; trap 'echo usr1' USR1; kill -USR1 $$; echo on; exit 3; }
# feature: kills_itself, alone
kills_itself() { kill -TERM $$; }
# feature: unknown_commands, alone
unknown_commands() { no_such_command_here; }
# feature: statuses
statuses() { (exit 5); echo $?; true && echo yes || echo no; ! false; echo $?; false | true; echo "${PIPESTATUS[*]}"; }
# feature: arithmetic
arithmetic() { local x=7; ((x **= 2, x++)); echo $((x % 6)) $((1 << 40)) $((16#ff)) $((x > 5 ? 1 : 0)) $((-7 / 2)); echo "scale=3; 2^70" | { command -v bc > /dev/null && bc || echo 1180591620717411303424; }; expr 3 \* 4; }
# feature: texts
texts() { local s='hello world'; echo ${s^^} ${s:6} ${s/o/0} ${s//o/0} ${#s} ${s%% *} ${s##* } ${nothing:-default} "${s@Q}"; [[ $s =~ ([a-z]+)\ (.*) ]] && echo "${BASH_REMATCH[2]}"; }
# feature: unicode
unicode() { local s='wörld 日本'; echo "${#s} $s"; printf '%s\n' "$s" | rev; echo "$s" | wc -m; }
# feature: arrays
arrays() { local a=(1 2 "3 4"); a+=(5); declare -A m=([x]=1 [y]=2); for v in "${a[@]}"; do echo "<$v>"; done; echo ${!m[@]} ${m[x]} ${a[@]:1:2} ${#a[@]}; unset 'a[0]'; echo "${!a[@]}"; }
# feature: functions
functions() { fact() { (( $1 < 2 )) && echo 1 || echo $(( $1 * $(fact $(( $1 - 1 ))) )); }; fact 10; local -n ref=REPLY; ref=by_name; echo $REPLY; }
# feature: control
control() { case "x.txt" in *.sh) echo sh ;; *.txt) echo txt ;; esac; for ((i = 0; i < 3; i++)); do [[ $i == 1 ]] && continue; echo $i; done; until ((i == 0)); do ((i--)); done; echo $i; select_=1; seq 1 2 7; }
# feature: subshells
subshells() { x=1; (x=2; echo $x); echo $x; y=$(x=3; echo $x); echo $y; { echo grouped; } | cat; }
# feature: pipelines
pipelines() { printf '%s\n' b a c a | sort | uniq -c | sort -rn | awk '{print $2}' | paste -sd, ; yes | head -2; seq 5 | sed -n '2,4p;s/5/five/p' | tac | xargs -n2 echo; }
# feature: process_substitution
process_substitution() { diff <(echo a) <(echo b); paste <(seq 2) <(seq 3 4); tee >(cat > teed) <<< x; sleep 0.1; cat teed; }
# feature: background
background() { sleep 0.01 & local pid=$!; wait $pid; echo $?; (sleep 0.02; exit 4) & wait $!; echo $?; jobs | wc -l; coproc cat; echo through >&"${COPROC[1]}"; read -r said <&"${COPROC[0]}"; echo $said; eval "exec ${COPROC[1]}>&-"; wait; }
# feature: timeouts
timeouts() { timeout 0.05 sleep 5; echo $?; read -t 0.01 -r x < <(sleep 0.1); echo $(( $? > 128 )); SECONDS=0; sleep 0.01; echo $(( SECONDS < 5 )); }
# feature: files
files() { echo x > f; echo y >> f; cp f g; mv g h; mkdir -p d/e; ln -s ../f d/l; cat d/l; ls d; [[ -f f && -d d && -L d/l && ! -e none ]] && echo tests; stat -c %s f; wc -c < f; find . -name 'l' -type l; du -b f | cut -f1; rm -r d h; basename /a/b.txt .txt; dirname /a/b; touch t; chmod 600 t; truncate -s 1 t; stat -c %s t; }
# feature: modes_are_kept, differs at every level: changes the mode, owner or times of files
modes_are_kept() { touch k; chmod 751 k; stat -c %a k; }
# feature: runs_its_own_scripts, differs at every level: executes a file that it wrote
runs_its_own_scripts() { printf '#!/bin/sh\necho run\n' > own; chmod +x own; ./own; }
# feature: sources_its_own_scripts
sources_its_own_scripts() { echo 'value=42' > lib.sh; . ./lib.sh; echo $value; bash -c 'echo "$1"' name argument; bash lib.sh; echo $?; }
# feature: temporary_files
temporary_files() { local f d; f=$(mktemp); d=$(mktemp -d); echo x > "$f"; cat "$f"; rm "$f"; rmdir "$d"; }
# feature: redirections
redirections() { { echo out; echo err >&2; } > both 2>&1; cat both; exec 5> five; echo five >&5; exec 5>&-; cat five; echo gone > /dev/null; ls none 2> /dev/null || echo absent; }
# feature: environment
environment() { export OWN=1; env | grep -c '^OWN='; OWN=2 bash -c 'echo $OWN'; unset OWN; echo "${OWN-unset} ${HOME:+home} ${PATH:+path} $#"; [[ -n $PWD && $PWD == "$(pwd)" ]] && echo same; }
# feature: dates
dates() { date -u -d @0 +%F_%T; date -d '2024-02-29 +1 year' +%F; printf '%(%Y)T\n' 0; [[ $(date +%s) -gt 1600000000 ]] && echo now; }
# feature: randomness
randomness() { RANDOM=42; local a=$RANDOM; RANDOM=42; [[ $a == "$RANDOM" ]] && echo same; head -c 8 /dev/urandom | wc -c; shuf -i 1-5 | wc -l; }
# feature: programs
programs() { echo x | md5sum; echo x | sha256sum | cut -c1-8; echo 'a b' | base64; printf 'a:b\n' | cut -d: -f2; echo abc | fold -w1 | nl | tail -1; printf 'x' | od -c | head -1; echo a > z; gzip -c z | gunzip; tar cf z.tar z && tar tf z.tar; join <(echo '1 a') <(echo '1 b'); comm -12 <(echo a) <(echo a); printf '3\n1\n' | sort -n | head -1; factor 91; numfmt --to=iec 2048; }
# feature: other_interpreters
other_interpreters() { perl -e 'print 6 * 7, "\n"'; sh -c 'echo sh'; awk 'BEGIN { print substr("hello", 2, 3) }'; }
# feature: the_user, differs at every level: looks up its user name
the_user() { whoami; }
# feature: sockets, differs at every level: opens sockets
sockets() { (exec 3<> /dev/udp/127.0.0.1/9) 2> /dev/null && echo open || echo closed; }
# feature: reads_fields, alone
reads_fields() { while IFS=' ' read -r first rest; do printf '%s|%s\n' "$first" "$rest"; done; }
# feature: reads_characters, alone
reads_characters() { read -r -n 3 some; echo "$some"; read -r -d w rest; echo "$rest"; read -r -N 2 two; echo "$two"; }
# feature: replaces_itself, alone
replaces_itself() { trap 'echo never' EXIT; exec cat; }
# feature: fails_on_errors, alone
fails_on_errors() { set -E; trap 'echo "status $?"' ERR; (exit 3); set -e; cd /nowhere/at/all; echo never; }
# feature: options
options() { set -- -a -b value rest; while getopts 'ab:' each; do echo "$each ${OPTARG-}"; done; shift $((OPTIND - 1)); echo "$1 $#"; set -- "x y" z; printf '<%s>' "$@" "$*"; echo; }
# feature: globs
globs() { mkdir -p g; touch g/{a,b}{1,2}.txt; echo g/*1.txt g/[b]*; (shopt -s nullglob; echo none g/*.md); (shopt -s extglob; eval 'echo g/!(a*)'); echo {1..3}{x,y} {10..0..5}; rm -r g; }
# feature: deep_recursion
deep_recursion() { down() { (( $1 )) && down $(( $1 - 1 )) || echo bottom; }; down 500; fib() { local n=$1; (( n < 2 )) && { r=$n; return; }; fib $((n - 1)); local a=$r; fib $((n - 2)); ((r += a)); }; fib 12; echo $r; }
# feature: big_integers
big_integers() { echo $((2 ** 62 + (2 ** 62 - 1))) $((9223372036854775807 + 1)) $((7 & 3 | 8 ^ 1)) $((010)) $((-7 % 3)); if command -v bc > /dev/null; then BC_LINE_LENGTH=0 bc <<< '2 ^ 200; scale = 20; sqrt(2)'; fi; }
# feature: sorting
sorting() { printf '%s\n' 'b 2' 'a 10' 'c 2' | sort -s -k2,2n; printf '%s\n' B a C | LC_ALL=C sort; printf '%s\n' 1.10 1.9 | sort -V; printf 'x\nx\ny\n' | uniq -d; printf '3\n1\n2\n' | sort -rn | head -1; }
# feature: streams_of_text
streams_of_text() { printf 'a,b\nc,d\n' | awk -F, 'BEGIN { OFS = ";" } { n[NR] = $2; print $2, $1 } END { for (i = NR; i; i--) printf "%s ", n[i]; print length("héé"), toupper("x"), int(7 / 2), sprintf("%05.1f", 2.25) }'; printf 'one\ntwo\nthree\n' | sed -E -e '1d' -e 's/(t)(w)/\2\1/' -e '$!N;s/\n/+/'; printf 'a1\nb2\n' | grep -nE '^[a-b][0-9]$' | cut -d: -f1; echo 'a b' | tr -s ' ' '\n' | rev; }
# feature: finds_and_acts
finds_and_acts() { mkdir -p w/x; touch w/1 w/x/2; find w -type f | sort | xargs -n1 basename; find w -name '[0-9]' -exec echo found {} + | wc -w; seq 4 | xargs -P2 -I{} echo n{} | sort; rm -r w; }
# feature: strings_by_printf
strings_by_printf() { local made; printf -v made '%03d-%s' 7 x; echo "$made"; printf '%b|%c|%8.3e|%+d|%o|%X|%%\n' 'a\tb' xyz 12345.678 5 8 255; printf '%s %s\n' 1 2 3; printf '\x41\u00e9\n'; echo "${made:0:3}" "${made: -1}" "${made^}" "${made/#0/z}" "${made@U}"; }
# feature: nested_data
nested_data() { local -A seen; local word; for word in the cat the dog; do (( seen[$word]++ )); done; for word in "${!seen[@]}"; do echo "$word ${seen[$word]}"; done | sort; local a=(5 3 9); local IFS=,; echo "${a[*]}"; readarray -t sorted < <(printf '%s\n' "${a[@]}" | sort -n); echo "${sorted[*]}" "${a[@]: -1}" "${#a[1]}"; }

read -r -a names
for name in "${names[@]}"; do
  ((${#names[@]} > 1)) && echo "== $name"
  $name
done

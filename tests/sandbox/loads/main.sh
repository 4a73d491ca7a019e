# The loads in Bash; the first line of stdin names the one to play.
depth() { if (($1 > 0)); then depth $(($1 - 1)); else echo recursion 0; fi; }
read -r name
case $name in
  threads)  # processes, of which a script may have fewer
    for i in {1..60}; do sleep 1 & done
    echo threads "$(jobs -p | wc -l)"
    kill $(jobs -p); wait 2>/dev/null ;;
  recursion) depth 1000 ;;
  files)
    for i in {1..100}; do exec {fd}>"file$i" || exit 1; done
    echo files "$fd" | cut -d ' ' -f 1 ;;
  small_files)
    mkdir folder
    for i in {1..300}; do printf %0100d 0 >"folder/$i"; done
    echo small_files "$(cat folder/* | wc -c)" ;;
esac

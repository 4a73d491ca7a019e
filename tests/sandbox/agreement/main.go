// What Go programs use: the first line of stdin names the features to play, the rest is their input.
// No package here uses cgo, with which Go does not notice a deadlock.

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/big"
	"math/rand"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"sort"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

var features = map[string]func(){
	// feature: prints
	"prints": func() {
		fmt.Println("println", 1, 2.5, nil, []int{1}, map[string]int{"a": 1})
		fmt.Printf("%5.2f|%-5d|%05d|%x|%q|%v|%+v|%T\n", 3.14159, 7, 42, 255, "q", true, struct{ A int }{1}, 1.5)
		fmt.Fprintln(os.Stderr, "to stderr")
		out := bufio.NewWriter(os.Stdout)
		fmt.Fprintf(out, "buffered wörld %v %v\n", 1e21, 0.1+0.2)
		out.Flush()
		os.Stdout.WriteString("written\n")
	},
	// feature: prints_much
	"prints_much": func() {
		out := bufio.NewWriter(os.Stdout)
		defer out.Flush()
		for i := 0; i < 50000; i++ {
			fmt.Fprintln(out, i, i*2)
		}
	},
	// feature: reads_by_scan, alone
	"reads_by_scan": func() {
		var a, b int
		n, err := fmt.Scan(&a, &b)
		fmt.Println(a+b, n, err)
	},
	// feature: reads_lines, alone
	"reads_lines": func() {
		in := bufio.NewScanner(os.Stdin)
		for in.Scan() {
			fmt.Printf("[%s]\n", in.Text())
		}
	},
	// feature: reads_all, alone
	"reads_all": func() {
		text, err := io.ReadAll(os.Stdin)
		fmt.Println(len(strings.Fields(string(text))), err)
	},
	// feature: reads_dev_stdin, alone
	"reads_dev_stdin": func() {
		text, err := os.ReadFile("/dev/stdin")
		fmt.Println(len(text) > 0, err)
	},
	// feature: exits, alone
	"exits": func() { fmt.Println("said"); os.Exit(7) },
	// feature: panics, alone
	"panics": func() { var all []int; fmt.Println("before"); fmt.Println(all[len(os.Args)]) },
	// feature: deadlocks, alone
	"deadlocks": func() { <-make(chan int) },
	// feature: recovers
	"recovers": func() {
		defer func() { fmt.Println(recover() != nil) }()
		var nowhere *int
		fmt.Println(*nowhere)
	},
	// feature: goroutines
	"goroutines": func() {
		var group sync.WaitGroup
		var lock sync.Mutex
		total := 0
		for i := 0; i < 1000; i++ {
			group.Add(1)
			go func(n int) { defer group.Done(); lock.Lock(); defer lock.Unlock(); total += n }(i)
		}
		group.Wait()
		fmt.Println(total, runtime.NumCPU() > 0)
	},
	// feature: channels
	"channels": func() {
		items := make(chan int, 3)
		go func() { defer close(items); for i := 0; i < 3; i++ { items <- i } }()
		for item := range items {
			fmt.Print(item, " ")
		}
		select {
		case <-time.After(5 * time.Millisecond):
			fmt.Println("after")
		}
		bounded, stop := context.WithTimeout(context.Background(), time.Millisecond)
		defer stop()
		<-bounded.Done()
		fmt.Println(bounded.Err())
	},
	// feature: recursion
	"recursion": func() {
		var down func(int) int
		down = func(n int) int { if n == 0 { return 0 }; return 1 + down(n-1) }
		fmt.Println(down(1000000))
	},
	// feature: signals
	"signals": func() {
		got := make(chan os.Signal, 1)
		signal.Notify(got, syscall.SIGUSR1)
		syscall.Kill(os.Getpid(), syscall.SIGUSR1)
		fmt.Println(<-got)
		signal.Stop(got)
	},
	// feature: processes, differs at every level: starts processes
	"processes": func() { out, err := exec.Command("echo", "said").Output(); fmt.Println(string(out), err == nil) },
	// feature: sockets, differs at every level: opens sockets
	"sockets": func() { _, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0); fmt.Println(err == nil) },
	// feature: files
	"files": func() {
		os.WriteFile("a.txt", []byte("text"), 0o600)
		os.MkdirAll("d/e", 0o755)
		fmt.Println(os.Rename("a.txt", "d/b.txt"))
		text, err := os.ReadFile("d/b.txt")
		fmt.Println(string(text), err)
		filepath.Walk("d", func(path string, info os.FileInfo, err error) error { fmt.Println(path, info.IsDir()); return err })
		_, err = os.Open("none")
		fmt.Println(errors.Is(err, os.ErrNotExist), os.Chmod("d/b.txt", 0o600), os.RemoveAll("d"))
	},
	// feature: temporary_files
	"temporary_files": func() {
		file, err := os.CreateTemp("", "own")
		fmt.Println(err)
		fmt.Println(file.Close(), os.Remove(file.Name()))
	},
	// feature: environment
	"environment": func() {
		os.Setenv("SET", "here")
		fmt.Println(os.Getenv("SET"), os.Getenv("NOT_SET"), os.Getenv("PATH") != "", len(os.Args), runtime.GOOS)
	},
	// feature: times
	"times": func() {
		before := time.Now()
		time.Sleep(5 * time.Millisecond)
		fmt.Println(time.Since(before) >= 5*time.Millisecond, time.Unix(0, 0).UTC(), time.Local)
	},
	// feature: numbers
	"numbers": func() {
		fmt.Println(new(big.Int).Exp(big.NewInt(2), big.NewInt(200), nil), math.Sqrt(2), -7/2, -7%3, math.MaxInt64)
		fmt.Println(rand.New(rand.NewSource(42)).Intn(100), strconv.Itoa(5), math.Inf(1))
	},
	// feature: collections
	"collections": func() {
		all := []int{3, 1, 2}
		sort.Slice(all, func(i, j int) bool { return all[i] < all[j] })
		text, err := json.Marshal(map[string][]int{"a": all})
		fmt.Println(string(text), err, strings.Repeat("x", 3), len([]rune("wörld")))
	},
	// feature: memory
	"memory": func() {
		held := make([][]byte, 100)
		for i := range held {
			held[i] = make([]byte, 1<<20)
		}
		runtime.GC()
		fmt.Println(len(held))
	},
}

func main() {
	var line []byte
	for held := make([]byte, 1); ; line = append(line, held[0]) {
		if n, _ := os.Stdin.Read(held); n == 0 || held[0] == '\n' {
			break
		}
	}
	names := strings.Fields(string(line))
	for _, name := range names {
		if len(names) > 1 {
			fmt.Println("==", name)
		}
		features[name]()
	}
}

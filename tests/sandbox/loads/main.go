// The loads in Go; the first line of stdin names the one to play. The packages of cgo are linked in.

package main

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"os/user"
	"runtime"
	"strings"
	"sync"
)

var held [256 << 20]byte

func depth(n int) int {
	if n == 0 {
		return 0
	}
	return 1 + depth(n-1)
}

func main() {
	var name string
	fmt.Scan(&name)
	switch name {
	case "threads":
		var here, done sync.WaitGroup
		leave := make(chan bool)
		for i := 0; i < 60; i++ {
			here.Add(1)
			done.Add(1)
			go func() {
				runtime.LockOSThread()
				here.Done()
				<-leave
				done.Done()
			}()
		}
		here.Wait()
		close(leave)
		done.Wait()
		fmt.Println("threads 60")
	case "recursion":
		fmt.Println("recursion", depth(100000))
	case "files":
		var all []*os.File
		for i := 0; i < 100; i++ {
			file, err := os.Create(fmt.Sprint("file", i))
			if err != nil {
				panic(err)
			}
			all = append(all, file)
		}
		fmt.Println("files", len(all))
	case "libraries":
		user.LookupId("0") // fails in the sandbox, but needs a thread of cgo
		fmt.Println("libraries", net.ParseIP("10.0.0.1"), http.StatusText(404))
	case "arrays":
		sum := 0
		for i := 0; i < 8; i++ {
			held[i<<25] = 1
		}
		for i := 0; i < 8; i++ {
			sum += int(held[i<<25])
		}
		fmt.Println("arrays", sum)
	case "small_files":
		os.Mkdir("folder", 0o777)
		sum := int64(0)
		for i := 0; i < 300; i++ {
			path := fmt.Sprint("folder/", i)
			if err := os.WriteFile(path, []byte(strings.Repeat("x", 100)), 0o666); err != nil {
				panic(err)
			}
			found, _ := os.Stat(path)
			sum += found.Size()
		}
		fmt.Println("small_files", sum)
	}
}

// checks.go: what the programs in Go share: a line for each test, as clients.pl reads them.
package main

import "fmt"

func check(name string, passed bool) {
	if passed {
		fmt.Println("ok - " + name)
	} else {
		fmt.Println("not ok - " + name)
	}
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

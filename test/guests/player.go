// player.go: a guest that draws ids all the time, for test/perl/Guests.pm, as player.py does; without DRIVER and fork, and with FILE behind "vectors".
package main

import (
	"bufio"
	"bytes"
	"database/sql/driver"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"reflect"
	"regexp"
	"sort"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/lib/pq"

	"uidgen"
)

var (
	path        string
	crowd       bool
	ids, errs   *os.File
	output      sync.Mutex
	place       = regexp.MustCompile(`host=(\S+) port=(\S+) (.*)`)
	layoutParts = regexp.MustCompile(`time:\d+:(\d+)([mu]?s) .*epoch:(\S+)`)
)

// lib/pq of this age knows one host, so it is chosen here.
func connect(warned func()) (driver.Connector, error) {
	text, err := os.ReadFile(path + ".to")
	if err != nil {
		return nil, err
	}
	if string(text) == "fail" {
		panic("as a library may")
	}
	found := place.FindStringSubmatch(string(text))
	if found == nil {
		return nil, errors.New("no place")
	}
	timeout := 2
	if crowd {
		timeout = 30
	}
	ports := strings.Split(found[2], ",")
	for i, port := range ports {
		dsn := fmt.Sprintf("host=%s port=%s %s sslmode=disable connect_timeout=%d", strings.Split(found[1], ",")[i], port, found[3], timeout)
		connector, err := pq.NewConnector(dsn)
		if err != nil {
			return nil, err
		}
		if i == len(ports)-1 || isPrimary(dsn) {
			return pq.ConnectorWithNoticeHandler(connector, func(*pq.Error) { warned() }), nil
		}
	}
	return nil, errors.New("no primary")
}

func isPrimary(dsn string) bool {
	conn, err := pq.Open(dsn)
	if err != nil {
		return false
	}
	defer conn.Close()
	rows, err := conn.(driver.Queryer).Query("SELECT pg_is_in_recovery()", nil) //nolint:staticcheck
	if err != nil {
		return false
	}
	defer rows.Close()
	row := []driver.Value{nil}
	return rows.Next(row) == nil && row[0] == false
}

func write(drawn []int64) {
	var rows bytes.Buffer
	for _, id := range drawn {
		_ = binary.Write(&rows, binary.BigEndian, int16(1))
		_ = binary.Write(&rows, binary.BigEndian, int32(8))
		_ = binary.Write(&rows, binary.BigEndian, id)
	}
	output.Lock()
	defer output.Unlock()
	_, _ = ids.Write(rows.Bytes())
}

func complain(err error) {
	condition := "-"
	var no *uidgen.NoGrant
	if errors.As(err, &no) {
		condition = no.Condition
	}
	output.Lock()
	defer output.Unlock()
	fmt.Fprintln(errs, condition, strings.Join(strings.Fields(err.Error()), " "))
}

func moment(text string) time.Time {
	if len(text) == 10 {
		text += "T00:00:00Z"
	}
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		panic(err)
	}
	return t
}

func readVectors(file string) {
	f, err := os.Open(file)
	if err != nil {
		panic(err)
	}
	names, count := map[string]string{}, 0
	for lines := bufio.NewScanner(f); lines.Scan(); {
		row := strings.Split(lines.Text(), "\t")
		if len(row) < 5 || strings.HasPrefix(row[0], "#") {
			continue
		}
		names[row[1]] = row[3]
		if row[0] != "fields" || strings.TrimSpace(row[4]) != "yes" {
			continue
		}
		count++
		text := row[2]
		if name, ok := names[text]; ok {
			text = name
		}
		found := layoutParts.FindStringSubmatch(text)
		unit, _ := strconv.ParseInt(found[1], 10, 64)
		layout, err := uidgen.NewLayout(text, unit*map[string]int64{"us": 1, "ms": 1000, "s": 1000000}[found[2]], moment(found[3]).UnixMicro())
		if err != nil {
			panic(err)
		}
		id, _ := strconv.ParseInt(row[1], 10, 64)
		values, at := layout.Decode(id)
		said := at.Format("2006-01-02T15:04:05.000000Z")
		for _, name := range []string{"datacenter", "worker", "tag", "sequence"} {
			if value, ok := values[name]; ok {
				said += fmt.Sprint(" ", value)
			} else {
				said += " -"
			}
		}
		if said != row[3] {
			fmt.Println(lines.Text(), "read as", said)
		}
	}
	fmt.Println(count, "rows")
}

func begin(timeout time.Duration) *uidgen.Guest {
	registry, _ := strconv.ParseInt(os.Getenv("PLAYER_REGISTRY"), 10, 64)
	return uidgen.New(connect, "player", uidgen.Options{Timeout: timeout, Registry: registry})
}

func atOnce(count int, work func()) {
	var all sync.WaitGroup
	for i := 0; i < count; i++ {
		all.Add(1)
		go func() {
			defer all.Done()
			work()
		}()
	}
	all.Wait()
}

func measure(count int) {
	guest := begin(time.Minute)
	_, _ = guest.Next()
	var took []int
	for round := 0; round < 40; round++ {
		begun := time.Now()
		drawn, err := guest.NextBatch(5000)
		if err != nil {
			panic(err)
		}
		took = append(took, int(time.Since(begun))/5000)
		write(drawn)
	}
	sort.Ints(took)
	complain(fmt.Errorf("one goroutine: best %d ns an id, median %d", took[0], took[len(took)/2]))
	atOnce(count, func() {
		drawn, err := guest.NextBatch(20000)
		if err != nil {
			complain(err)
		}
		write(drawn)
	})
}

func main() {
	if os.Args[1] == "vectors" {
		readVectors(os.Args[2])
		return
	}
	path, crowd = os.Args[1], os.Args[2] == "crowd"
	ids, _ = os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o666)
	errs, _ = os.OpenFile(path+".err", os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o666)
	_, _ = ids.WriteString("PGCOPY\n\xff\r\n\x00" + strings.Repeat("\x00", 8))
	number, _ := strconv.Atoi(os.Args[3])
	if crowd {
		atOnce(number, func() {
			for guest := begin(time.Minute); ; {
				drawn, err := guest.NextBatch(10)
				if err == nil {
					write(drawn)
					return
				}
				complain(err)
			}
		})
		select {}
	}
	if os.Args[2] == "threads" {
		measure(number)
		return
	}
	guest := begin(time.Second)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM)
	go func() {
		<-signals
		guest.Close()
		os.Exit(0)
	}()
	batch, _ := strconv.Atoi(os.Args[2])
	for {
		if todo, err := os.ReadFile(path + ".do"); err == nil {
			method := string(todo)
			reflect.ValueOf(guest).MethodByName(strings.ToUpper(method[:1]) + method[1:]).Call(nil)
			_ = os.Remove(path + ".do")
		}
		drawn, err := guest.NextBatch(batch)
		if err != nil {
			complain(err)
			continue
		}
		write(drawn)
		time.Sleep(time.Duration(number) * time.Millisecond)
	}
}

// Package uidgen makes ids of uidgen in a program's own process, by a worker id that it leases from a registry.
//
//	guest, err := uidgen.New(func(warned func()) (driver.Connector, error) {
//		connector, err := pq.NewConnector("host=registry dbname=uidgen user=app connect_timeout=3")
//		return pq.ConnectorWithNoticeHandler(connector, func(*pq.Error) { warned() }), err
//	}, "billing", uidgen.Options{})
//	id, err := guest.Next()
//
// A process needs one Guest, for all of its goroutines. docs/protocol.md has the rules. Needs Go 1.19, and a driver of database/sql
// that tells of notices, such as lib/pq and pgx's stdlib.
package uidgen

import (
	"context"
	crypto "crypto/rand"
	"database/sql/driver"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

const maxTokens = 100

// NoGrant says why there is no id now; later there may be. Condition is one of those in docs/protocol.md.
type NoGrant struct {
	Condition string
	Why       error
}

func (e *NoGrant) Error() string { return e.Why.Error() }
func (e *NoGrant) Unwrap() error { return e.Why }

func noGrant(condition, format string, arguments ...any) *NoGrant {
	return &NoGrant{condition, fmt.Errorf(format, arguments...)}
}

// State says whether Next has an id now, of which worker id, until when the grant lasts, when the registry answered last, and what went
// wrong since.
type State struct {
	OK         bool
	Worker     int64 // -1: none
	Until      time.Time
	LastAnswer time.Time
	Err        *NoGrant
}

// A Field of an id: its lowest bit, and how many bits it has.
type Field struct{ Shift, Bits uint }

// Layout says where the fields of an id lie; Unit and Epoch are in microseconds.
type Layout struct {
	Text        string
	Unit, Epoch int64
	Fields      map[string]Field
}

var fields = regexp.MustCompile(`(\w+):(\d+)(:\d+[mu]?s)? `)

// NewLayout reads a layout in canonical form.
func NewLayout(text string, unit, epoch int64) (*Layout, error) {
	l, shift, found := &Layout{text, unit, epoch, map[string]Field{}}, uint(0), fields.FindAllStringSubmatch(text, -1)
	for i := len(found) - 1; i >= 0; i-- {
		bits, _ := strconv.ParseUint(found[i][2], 10, 6)
		l.Fields[found[i][1]] = Field{shift, uint(bits)}
		shift += uint(bits)
	}
	if l.Fields["time"].Bits == 0 || shift > 63 || !strings.Contains(text, "worker:") {
		return nil, fmt.Errorf("cannot make ids of the layout %q", text)
	}
	return l, nil
}

// Decode returns the fields of an id, and the time of its tick.
func (l *Layout) Decode(id int64) (map[string]int64, time.Time) {
	values := map[string]int64{}
	for name, f := range l.Fields {
		if name != "zero" {
			values[name] = id >> f.Shift & (1<<f.Bits - 1)
		}
	}
	return values, l.begins(values["time"])
}

func (l *Layout) begins(tick int64) time.Time { return time.UnixMicro(tick*l.Unit + l.Epoch).UTC() }

// An accepted answer: the last tick granted to this guest, and the registry's clock against the clocks of this machine.
type grant struct {
	layout                *Layout
	worker, last, renewAt int64
	fixed                 int64
	time, sequence        Field
	base                  int64         // microseconds from the layout's epoch to heard, by the registry's clock
	heard                 time.Time     // with its monotonic clock
	apart                 time.Duration // wall clock minus monotonic clock, when the call was sent
	stale                 atomic.Bool
}

// The tick that the registry's clock shows at a moment, by a clock that nobody sets; -1: the registry has to be asked. One look gives both clocks.
func (g *grant) tick(now time.Time) int64 {
	if d := apartAt(now) - g.apart; d > time.Second || d < -time.Second {
		g.stale.Store(true) // the machine slept, or its clock was set
		return -1
	}
	return (g.base + int64(now.Sub(g.heard)/time.Microsecond)) / g.layout.Unit
}

var start = time.Now()

func apartAt(now time.Time) time.Duration {
	return time.Duration(now.UnixNano()-start.UnixNano()) - now.Sub(start)
}

// Options of a guest. Timeout is how long a call may take, and Next wait; 5 s if it is 0. Registry is the number of the registry that is
// meant, or 0 for whichever answers first.
type Options struct {
	Timeout    time.Duration
	Datacenter int64
	Registry   int64
}

// Guest makes ids; any number of goroutines may use it.
type Guest struct {
	Options
	name     string
	connect  func(warned func()) (driver.Connector, error)
	grant    atomic.Pointer[grant]
	position atomic.Int64 // of the last id: its tick and its number in that

	mutex    sync.Mutex // of what follows
	keeper   *keeper
	closed   bool
	err      *NoGrant
	answered time.Time
	changed  chan struct{} // closed when something has changed
	registry int64         // the latest: other answers do not count
	timeline int64         // -1: none
}

// New returns a guest. connect makes a connector of a driver, which calls warned for each notice.
func New(connect func(warned func()) (driver.Connector, error), name string, options Options) *Guest {
	g := &Guest{Options: options, name: name, connect: connect, changed: make(chan struct{}), timeline: -1}
	if g.Timeout == 0 {
		g.Timeout = 5 * time.Second
	}
	g.position.Store(-1)
	g.keeper = newKeeper(g)
	return g
}

// Next returns an id; it waits for one, at most for the time-out.
func (g *Guest) Next() (int64, error) {
	for {
		gr, before := g.grant.Load(), g.position.Load()
		// Before a grant of another worker id, grant is nil, and then position is raised. Who has seen neither fails below.
		if gr != nil && gr == g.grant.Load() && !gr.stale.Load() {
			if tick := gr.tick(time.Now()); tick >= 0 {
				pos := before + 1
				if p := tick << gr.sequence.Bits; p > pos {
					pos = p
				}
				at := pos >> gr.sequence.Bits
				if at >= gr.renewAt {
					g.wake()
				}
				// All of the grant is this guest's alone, so an id may be ahead of the clock.
				if at <= gr.last {
					if g.position.CompareAndSwap(before, pos) {
						return at<<gr.time.Shift | gr.fixed | (pos&(1<<gr.sequence.Bits-1))<<gr.sequence.Shift, nil
					}
					continue
				}
			}
		}
		if err := g.wait(); err != nil {
			return 0, err
		}
	}
}

// NextBatch returns count new ids, increasing.
func (g *Guest) NextBatch(count int) ([]int64, error) {
	ids := make([]int64, 0, count)
	for len(ids) < count {
		id, err := g.Next()
		if err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, nil
}

// Layout returns the layout of the ids; nil until there is one.
func (g *Guest) Layout() *Layout {
	if gr := g.grant.Load(); gr != nil {
		return gr.layout
	}
	return nil
}

// State never waits.
func (g *Guest) State() State {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	s := State{OK: g.usable(), Worker: -1, LastAnswer: g.answered, Err: g.err}
	if gr := g.grant.Load(); gr != nil {
		s.Worker, s.Until = gr.worker, gr.layout.begins(gr.last+1)
	}
	return s
}

func (g *Guest) usable() bool {
	gr := g.grant.Load()
	if gr == nil || gr.stale.Load() {
		return false
	}
	tick := gr.tick(time.Now())
	next := (g.position.Load() + 1) >> gr.sequence.Bits
	return tick >= 0 && tick <= gr.last && next <= gr.last
}

func (g *Guest) wake() {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	g.keeper.wakeUp()
}

func (g *Guest) wait() error {
	limit := time.NewTimer(g.Timeout)
	defer limit.Stop()
	for {
		g.mutex.Lock()
		if g.closed {
			g.mutex.Unlock()
			return noGrant("closed", "the guest is closed")
		}
		g.keeper.start()
		g.keeper.wakeUp()
		changed, err := g.changed, g.err
		g.mutex.Unlock()
		if g.usable() {
			return nil
		}
		select {
		case <-changed:
		case <-limit.C:
			if err == nil {
				err = noGrant("no_answer", "the registry has not answered so far")
			}
			return err
		}
	}
}

// Under the lock.
func (g *Guest) tell() {
	close(g.changed)
	g.changed = make(chan struct{})
}

// Close hands the worker id back. There are no ids after that.
func (g *Guest) Close() {
	g.mutex.Lock()
	g.closed = true
	k := g.keeper
	g.mutex.Unlock()
	k.end(true)
}

// Drop hands the worker id back before a snapshot of the process is made; the next id waits for another one.
func (g *Guest) Drop() {
	g.mutex.Lock()
	k := g.keeper
	g.mutex.Unlock()
	k.end(true)
	g.Restored()
}

// Restored says that this process goes on from a snapshot, perhaps beside others: what was granted may be anybody's.
func (g *Guest) Restored() {
	g.mutex.Lock()
	k := g.keeper
	g.keeper = newKeeper(g)
	g.grant.Store(nil)
	g.err = nil
	g.tell()
	g.mutex.Unlock()
	k.end(false)
}

// A keeper is one life of a guest in the registry, by a goroutine of its own: from a process or a snapshot that begins to its end.
type keeper struct {
	guest    *Guest
	identity string        // for people who look at the registry
	ends     chan struct{} // closed when it shall end
	ended    chan struct{} // closed when its goroutine has ended
	wakes    chan struct{}
	once     sync.Once
	running  bool // under the guest's lock
	releases bool

	// Of the goroutine alone
	connection    *connection
	worker, until int64   // of the last answer, and the end of its grant
	tokens        []int64 // that the row may have: of the last answer, and of all calls since then
	doubt         bool    // whether there are calls since then
}

func newKeeper(g *Guest) *keeper {
	host, _ := os.Hostname()
	identity := fmt.Sprintf("%.100s@%.60s/%d/%016x", g.name, host, os.Getpid(), random())
	return &keeper{guest: g, identity: regexp.MustCompile(`[^\w@./-]`).ReplaceAllString(identity, "_"), ends: make(chan struct{}), ended: make(chan struct{}),
		wakes: make(chan struct{}, 1), worker: -1, until: -1}
}

func random() int64 {
	var b [8]byte
	if _, err := crypto.Read(b[:]); err != nil {
		panic(err)
	}
	return int64(binary.LittleEndian.Uint64(b[:]) >> 1)
}

func (k *keeper) isEnded() bool {
	select {
	case <-k.ends:
		return true
	default:
		return false
	}
}

// Under the guest's lock. Whoever waits looks after the goroutine: a panic of a driver may have ended it.
func (k *keeper) start() {
	if !k.running && !k.isEnded() {
		k.running = true
		go k.run()
	}
}

func (k *keeper) wakeUp() {
	select {
	case k.wakes <- struct{}{}:
	default:
	}
}

func (k *keeper) end(releases bool) {
	g := k.guest
	g.mutex.Lock()
	k.releases = releases
	running := k.running
	k.once.Do(func() { close(k.ends) })
	if g.keeper == k {
		g.grant.Store(nil)
		g.tell()
	}
	g.mutex.Unlock()
	if running && releases {
		select {
		case <-k.ended:
		case <-time.After(time.Second):
		}
	}
}

func (k *keeper) run() {
	g := k.guest
	defer func() {
		failure := recover()
		k.disconnect()
		g.mutex.Lock()
		k.running = false
		if failure != nil {
			g.err = noGrant("no_answer", "%v", failure)
			g.tell()
		}
		g.mutex.Unlock()
		if k.isEnded() {
			close(k.ended)
		}
	}()
	for failures := 0; !k.isEnded(); {
		if rest := k.rest(); rest > 0 {
			k.sleep(rest, k.wakes)
			continue
		}
		more, err := k.ask()
		g.mutex.Lock()
		if !k.isEnded() {
			g.err = err
			g.tell()
		}
		g.mutex.Unlock()
		if more {
			failures = 0
			k.sleep(250*time.Millisecond, nil) // who draws faster than ticks come would else ask all the time
			continue
		}
		// Random, so that guests do not come back together.
		if failures < 5 {
			failures++
		}
		pause := 100 * time.Millisecond << failures
		if pause > 2*time.Second {
			pause = 2 * time.Second
		}
		k.sleep(pause/2+time.Duration(rand.Int63n(int64(pause/2))), nil)
	}
	if k.releases && k.worker >= 0 && k.connection != nil {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		release := fmt.Sprintf("SELECT uidgen_registry.guest_release(%d, '{%s}', %d)", k.worker, k.known(), g.Datacenter)
		// It becomes free by itself.
		c := k.connection
		_, _ = within(ctx, func() (*answer, error) { return c.query(release) })
	}
}

func (k *keeper) sleep(length time.Duration, wakes chan struct{}) {
	timer := time.NewTimer(length)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-wakes:
	case <-k.ends:
	}
}

// How long until the registry has to be asked.
func (k *keeper) rest() time.Duration {
	g := k.guest
	gr := g.grant.Load()
	if gr == nil || k.doubt || gr.stale.Load() {
		return 0
	}
	at := gr.tick(time.Now())
	if at < 0 {
		return 0
	}
	if p := g.position.Load() >> gr.sequence.Bits; p > at {
		at = p
	}
	rest := time.Duration((gr.renewAt-at)*gr.layout.Unit) * time.Microsecond
	if rest > time.Second {
		rest = time.Second
	}
	return rest
}

func (k *keeper) known() string {
	return strings.ReplaceAll(strings.Trim(fmt.Sprint(k.tokens), "[]"), " ", ",")
}

// One call. Returns whether there is more of a grant than before; whatever is unusual is an error: then what was done is not known.
func (k *keeper) ask() (bool, *NoGrant) {
	g := k.guest
	ctx, cancel := context.WithTimeout(context.Background(), g.Timeout)
	defer cancel()
	more, err := k.call(ctx)
	if err == nil {
		return more, nil
	}
	var known *NoGrant
	if errors.As(err, &known) {
		if known.Condition != "lost" && known.Condition != "ahead" {
			k.disconnect()
		}
		return false, known
	}
	k.disconnect()
	var refused interface{ SQLState() string }
	if errors.As(err, &refused) && !strings.HasPrefix(refused.SQLState(), "08") {
		return false, &NoGrant{"refused", err}
	}
	return false, &NoGrant{"no_answer", err}
}

func (k *keeper) call(ctx context.Context) (bool, error) {
	g := k.guest
	if k.connection == nil {
		c, err := within(ctx, func() (*connection, error) { return open(ctx, g.connect) })
		if err != nil {
			return false, err
		}
		k.connection = c
	}
	gr, token := g.grant.Load(), random()
	renews := gr != nil && !k.doubt
	call := fmt.Sprintf("worker, first_tick, last_tick, layout, unit, epoch FROM uidgen_registry.guest_acquire('%s', %d, '{%s}', %d, %d, %d, %d)",
		k.identity, token, k.known(), k.worker, k.until, g.Datacenter, g.Registry)
	if renews {
		call = fmt.Sprintf("0, 0::bigint, last_tick, '', 0::bigint, 0::bigint FROM uidgen_registry.guest_renew(%d, %d, %d, %d, %d, %d)",
			k.worker, k.tokens[0], k.until, token, (g.position.Load()+1)>>gr.sequence.Bits, g.Datacenter)
	}
	// Before it is sent: if the answer is lost, the row may have it. Where all calls fail, the row has the first one, of the last answer.
	if len(k.tokens) >= maxTokens {
		k.tokens = append(k.tokens[:1], k.tokens[2:]...)
	}
	k.tokens, k.doubt = append(k.tokens, token), true
	asked := time.Now() // the machine may sleep while the answer is on its way
	// No arguments: for these the driver would prepare a statement, and a pooler may lie between.
	statement, c := fmt.Sprintf("SELECT %d::bigint, registry_id, timeline, clock, %s", token, call), k.connection
	a, err := within(ctx, func() (*answer, error) { return c.query(statement) })
	if err != nil {
		return false, err
	}
	heard := time.Now()
	// A warning is how PostgreSQL says that a commit is not on the standby.
	if a.rows != 1 || a.token != token || c.warned.Load() {
		return false, noGrant("uncertain", "the answer is not certain")
	}
	if heard.Sub(asked) > g.Timeout {
		return false, noGrant("no_answer", "the registry did not answer within %s", g.Timeout)
	}
	if g.Registry != 0 && a.registry != g.Registry {
		return false, noGrant("other_registry", "another registry than configured: %d", a.registry)
	}
	if g.timeline >= 0 && a.registry != g.registry {
		return false, noGrant("other_registry", "another registry than before: %d", a.registry)
	}
	if a.timeline < g.timeline {
		return false, noGrant("left_behind", "the registry was left behind by a failover")
	}
	g.mutex.Lock()
	defer g.mutex.Unlock()
	g.registry, g.timeline, g.answered = a.registry, a.timeline, heard
	if a.last == nil {
		// What was granted stays this guest's. The row is asked for by all tokens, and by its end.
		if renews {
			return false, noGrant("lost", "another guest has the worker id, or the registry has lost a renewal")
		}
		return false, noGrant("ahead", "the registry cannot grant so far ahead of its clock yet: it is in quarantine, or the last grant of the worker id lies ahead")
	}
	next := &grant{last: *a.last, worker: k.worker, heard: heard, apart: apartAt(asked)}
	if renews {
		next.layout = gr.layout
	} else if next.layout, err = NewLayout(a.text, a.unit, a.epoch); err != nil {
		return false, err
	} else {
		next.worker = a.worker
	}
	next.time, next.sequence = next.layout.Fields["time"], next.layout.Fields["sequence"]
	next.fixed = next.worker<<next.layout.Fields["worker"].Shift | g.Datacenter<<next.layout.Fields["datacenter"].Shift
	next.base = a.clock - next.layout.Epoch
	half := (next.last - next.base/next.layout.Unit) / 2
	if half < 1 {
		half = 1
	}
	next.renewAt = next.last - half
	more := next.last > k.until
	if !k.isEnded() {
		if next.worker != k.worker {
			g.grant.Store(nil)
			g.raise(g.position.Load() | (1<<next.sequence.Bits - 1)) // the other worker id may be lower, so it begins with another tick
		}
		if !renews {
			g.raise(a.first<<next.sequence.Bits - 1)
		}
		g.grant.Store(next)
	}
	k.worker, k.until, k.tokens, k.doubt = next.worker, next.last, []int64{token}, false
	return more, nil
}

func (g *Guest) raise(position int64) {
	for {
		before := g.position.Load()
		if before >= position || g.position.CompareAndSwap(before, position) {
			return
		}
	}
}

func (k *keeper) disconnect() {
	if k.connection != nil {
		go k.connection.close() // which may wait for a server that does not answer
		k.connection = nil
	}
}

type result[T any] struct {
	value T
	err   error
}

// Drivers wait for a server that does not answer, whatever their context says. So whatever they do is given up when it takes too long.
func within[T any](ctx context.Context, work func() (T, error)) (T, error) {
	done := make(chan result[T], 1)
	go func() {
		var r result[T]
		defer func() {
			if failure := recover(); failure != nil {
				r.err = fmt.Errorf("%v", failure)
			}
			done <- r
		}()
		r.value, r.err = work()
	}()
	select {
	case r := <-done:
		return r.value, r.err
	case <-ctx.Done():
		var none T
		return none, ctx.Err()
	}
}

// A connection without a pool, since only its own Close() ends a call that has no answer.
type connection struct {
	conn   driver.Conn
	warned atomic.Bool
}

func open(ctx context.Context, connect func(warned func()) (driver.Connector, error)) (*connection, error) {
	c := &connection{}
	connector, err := connect(func() { c.warned.Store(true) })
	if err != nil {
		return nil, err
	}
	if c.conn, err = connector.Connect(ctx); err != nil {
		return nil, err
	}
	c.warned.Store(false)
	if ctx.Err() != nil { // nobody waits for it any more
		c.close()
	}
	return c, nil
}

func (c *connection) close() { _ = c.conn.Close() }

type answer struct {
	rows                                                         int
	token, registry, timeline, clock, worker, first, unit, epoch int64
	last                                                         *int64
	text                                                         string
}

// The first row, in the order of call(); columns that are null stay 0.
func (c *connection) query(statement string) (*answer, error) {
	queryer, ok := c.conn.(driver.QueryerContext)
	if !ok {
		return nil, errors.New("the driver has no QueryContext")
	}
	rows, err := queryer.QueryContext(context.Background(), statement, nil)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	a := &answer{}
	for row := make([]driver.Value, len(rows.Columns())); ; a.rows++ {
		if err = rows.Next(row); err == io.EOF {
			return a, nil
		} else if err != nil {
			return nil, err
		}
		for i, value := range row {
			switch v := value.(type) {
			case int64:
				if i == 6 {
					a.last = &v
				} else if to := []*int64{&a.token, &a.registry, &a.timeline, &a.clock, &a.worker, &a.first, nil, nil, &a.unit, &a.epoch}[i]; to != nil {
					*to = v
				}
			case string:
				a.text = v
			case []byte:
				a.text = string(v)
			}
		}
	}
}

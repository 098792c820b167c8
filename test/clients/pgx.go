// pgx.go: pgx, as docs/applications.md has it.
package main

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/jackc/pgx/v5"
)

//page

func main() {
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, "")
	must(err)
	defer conn.Close(ctx)
	_, err = conn.Exec(ctx, "CREATE TABLE message (id bigint PRIMARY KEY DEFAULT uid_next(), body text)")
	must(err)
	body := func(id int64) (body string) {
		must(conn.QueryRow(ctx, "SELECT body FROM message WHERE id = $1", id).Scan(&body))
		return
	}

	//page
	check("the id is that of the row", body(message.ID) == "hello")
	//page
	check("ids of many rows", len(ids) == 2 && message.ID < ids[0] && ids[0] < ids[1] && body(ids[0]) == "a" && body(ids[1]) == "b")
	last := ids[1]
	func() {
		//page
		check("ids that were drawn before are those of the rows", copied == 2 && last < ids[0] && ids[0] < ids[1] && body(ids[0]) == "c" && body(ids[1]) == "d")
	}()
	func() {
		//page
		var back Message
		must(json.Unmarshal(text, &back))
		check("JSON has all digits as text, and is read back", back == message && string(text) == fmt.Sprintf(`{"id":"%d","body":"hello"}`, message.ID))
	}()
}

// gorm.go: GORM, as docs/clients/gorm.go has it.
package main

import (
	"database/sql/driver"
	"os"

	"github.com/jinzhu/gorm"
	_ "github.com/jinzhu/gorm/dialects/postgres"
	"github.com/lib/pq"

	"uidgen"
)

var guest = uidgen.New(func(warned func()) (driver.Connector, error) {
	connector, err := pq.NewConnector(os.Getenv("GUESTS") + "?sslmode=disable")
	if err != nil {
		return nil, err
	}
	return pq.ConnectorWithNoticeHandler(connector, func(*pq.Error) { warned() }), nil
}, "orm", uidgen.Options{})

//page

func main() {
	defer guest.Close()
	db, err := gorm.Open("postgres", "sslmode=disable")
	must(err)
	defer db.Close()
	must(db.AutoMigrate(&Message{}).Error)
	//page
	for _, row := range made {
		var found Message
		must(db.First(&found, row.ID).Error)
		values, _ := guest.Layout().Decode(row.ID)
		check("the id of a guest is that of the row "+row.Body, found == row && values["worker"] >= 512)
	}
}

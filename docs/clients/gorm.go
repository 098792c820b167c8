// Ids of a guest (docs/guests.md) in GORM.  `./check clients` runs this as it is, with GORM 1; GORM 2 calls the same method.

// ---- the model; with the default, and a guest in no program, the tag is gorm:"default:uid_next()"
type Message struct {
	ID   int64 `gorm:"primary_key;auto_increment:false"`
	Body string
}

func (m *Message) BeforeCreate(*gorm.DB) (err error) {
	if m.ID == 0 {
		m.ID, err = guest.Next()
	}
	return err
}

// ---- rows
made := []Message{{Body: "e"}, {Body: "f"}}
for i := range made {
	must(db.Create(&made[i]).Error)
}

package hashmap

import "fmt"

// NoLink is the link of no row. Links are stored plus one, so a stored word of zero reads as NoLink.
const NoLink = ^uint32(0)

// MaxRows is the number of rows that links can name: 0 to NoLink-1.
const MaxRows = uint64(NoLink)

// LinkOverflow reports a row that a link of 32 bits cannot name. It is returned before anything is stored: a link
// that wrapped would name another row for ever.
type LinkOverflow struct {
	Name string // the table
	Row  uint64 // the number that does not fit
}

func (e *LinkOverflow) Error() string {
	return fmt.Sprintf("%s: row %d is beyond the %d rows that links can name", e.Name, e.Row, MaxRows)
}

// ToLink returns the link of a row, or *LinkOverflow. Ask before the row is appended.
func ToLink(name string, row uint64) (uint32, error) {
	if row >= MaxRows {
		return NoLink, &LinkOverflow{Name: name, Row: row}
	}
	return uint32(row), nil
}

package jinja

type tkind uint8

const (
	tData tkind = iota
	tVarBegin
	tVarEnd
	tBlockBegin
	tBlockEnd
	tName
	tString
	tInt
	tFloat
	tOp
	tEOF
)

type token struct {
	k  tkind
	s  string
	v  Value
	at P
}

// desc is how Jinja names the token in "expected ..., got ..." messages.
func (t token) desc() string {
	switch t.k {
	case tVarEnd:
		return "end of print statement"
	case tBlockEnd:
		return "end of statement block"
	case tVarBegin:
		return "begin of print statement"
	case tBlockBegin:
		return "begin of statement block"
	case tEOF:
		return "end of template"
	case tData:
		return "template data / text"
	}
	return t.s
}

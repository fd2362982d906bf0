package jinja

import (
	"fmt"
	"math/big"
)

// TypeName is Python's type(v).__name__.
func TypeName(v Value) string {
	switch x := v.(type) {
	case nil:
		return "NoneType"
	case bool:
		return "bool"
	case int64, *big.Int:
		return "int"
	case float64:
		return "float"
	case string:
		return "str"
	case *List:
		return "list"
	case *Tuple:
		return "tuple"
	case *Dict:
		return "dict"
	case *Set:
		return "set"
	case *Range:
		return "range"
	case *DictView:
		return "dict_" + x.Kind
	case *Gen:
		return "generator"
	case *Undefined:
		return "Undefined"
	case Typed:
		return x.PyType()
	}
	return fmt.Sprintf("%T", v)
}

// Truth is Python's bool(v).
func Truth(v Value) bool {
	switch x := v.(type) {
	case nil:
		return false
	case bool:
		return x
	case int64:
		return x != 0
	case float64:
		return x != 0
	case *big.Int:
		return x.Sign() != 0
	case string:
		return x != ""
	case *List:
		return len(x.Items) > 0
	case *Tuple:
		return len(x.Items) > 0
	case *Dict:
		return x.n > 0
	case *Set:
		return x.D.n > 0
	case *DictView:
		return x.D.n > 0
	case *Range:
		return x.Len() > 0
	case *Undefined:
		return false
	case Truther:
		return x.PyBool()
	case Lener:
		return x.PyLen() > 0
	}
	return true
}

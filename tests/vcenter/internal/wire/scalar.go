// Plain values: their names in XML Schema, their lexical forms, and how we write them.
// SPDX-License-Identifier: GPL-3.0-or-later
package wire

import (
	"encoding/base64"
	"reflect"
	"strconv"
	"time"
)

var xsdTypes = map[string]reflect.Type{
	"boolean": reflect.TypeOf(false), "byte": reflect.TypeOf(int8(0)), "short": reflect.TypeOf(int16(0)),
	"int": reflect.TypeOf(int32(0)), "long": reflect.TypeOf(int64(0)), "float": reflect.TypeOf(float32(0)),
	"double": reflect.TypeOf(float64(0)), "string": reflect.TypeOf(""), "dateTime": timeType,
	"base64Binary": reflect.TypeOf([]byte(nil)), "anyURI": reflect.TypeOf(""),
}

// scalar parses text (trimmed) or raw (as sent, for strings) into v.
func scalar(text, raw string, v reflect.Value, path string) error {
	var err error
	switch v.Kind() {
	case reflect.String:
		if !enumValue(v, raw) {
			return Invalid("%q is not a value of %s in <%s>", raw, v.Type().Name(), path)
		}
		v.SetString(raw)
	case reflect.Bool:
		var b bool
		if b, err = parseBool(text); err == nil {
			v.SetBool(b)
		}
	case reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64, reflect.Int:
		var i int64
		if i, err = strconv.ParseInt(text, 10, v.Type().Bits()); err == nil {
			v.SetInt(i)
		}
	case reflect.Uint8: // xsd:byte is signed on the wire
		var i int64
		if i, err = strconv.ParseInt(text, 10, 16); err == nil {
			v.SetUint(uint64(uint8(i)))
		}
	case reflect.Float32, reflect.Float64:
		var f float64
		if f, err = strconv.ParseFloat(text, v.Type().Bits()); err == nil {
			v.SetFloat(f)
		}
	case reflect.Slice:
		var b []byte
		if b, err = base64.StdEncoding.DecodeString(text); err == nil {
			v.SetBytes(b)
		}
	case reflect.Struct:
		var t time.Time
		if t, err = time.Parse(time.RFC3339Nano, text); err == nil {
			v.Set(reflect.ValueOf(t))
		}
	default:
		return Invalid("<%s> has a type that this server cannot read (%s)", path, v.Type())
	}
	if err != nil {
		return Invalid("%q in <%s> is not a valid %s", text, path, XSDName(v.Type()))
	}
	return nil
}

func parseBool(s string) (bool, error) {
	switch s {
	case "true", "1":
		return true, nil
	case "false", "0":
		return false, nil
	}
	return false, strconv.ErrSyntax
}

// XSDName is the name of a plain type inside XML Schema, the wire name for all others.
func XSDName(t reflect.Type) string {
	if t == timeType {
		return "xsd:dateTime"
	}
	if t.Kind() == reflect.String && t.Name() != "string" {
		return TypeName(t)
	}
	for _, name := range []string{"boolean", "byte", "short", "int", "long", "float", "double", "string"} {
		if xsdTypes[name].Kind() == t.Kind() {
			return "xsd:" + name
		}
	}
	switch t.Kind() {
	case reflect.Uint8:
		return "xsd:byte"
	case reflect.Int:
		return "xsd:long"
	case reflect.Slice:
		return "xsd:base64Binary"
	}
	return TypeName(t)
}

// scalarText writes a plain value; times in UTC with microseconds, as vpxd does.
func scalarText(v reflect.Value) (string, bool) {
	if v.Type() == timeType {
		return v.Interface().(time.Time).UTC().Format("2006-01-02T15:04:05.000000Z"), true
	}
	switch v.Kind() {
	case reflect.String:
		return v.String(), true
	case reflect.Bool:
		return strconv.FormatBool(v.Bool()), true
	case reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64, reflect.Int:
		return strconv.FormatInt(v.Int(), 10), true
	case reflect.Uint8:
		return strconv.FormatInt(int64(int8(v.Uint())), 10), true
	case reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return strconv.FormatUint(v.Uint(), 10), true
	case reflect.Float32, reflect.Float64:
		return strconv.FormatFloat(v.Float(), 'g', -1, v.Type().Bits()), true
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return base64.StdEncoding.EncodeToString(v.Bytes()), true
		}
	}
	return "", false
}

// An adapter for dpadmm: newline-delimited JSON on stdin and stdout (docs/reference/protocol.md).
//
// Fill in the lines marked FILL IN with calls of your implementation; below the line of dashes nothing needs to be
// changed. Log to os.Stderr, never to stdout.
package main

import (
	"bufio"
	"crypto/rand"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"os"
)

type object = map[string]any

type dataset struct {
	rows   [][]float64
	labels []float64
}

var datasets = map[string]dataset{}

@FACE@

// ---------------------------------------------------------------------------------------------------------------------

// Answered with `error`: its kind, and what is wrong.
type refused struct{ kind, message string }

func require(good bool, message string, kind ...string) {
	if !good {
		panic(refused{append(kind, "invalid-parameters")[0], message})
	}
}

// fillIn is called by the lines that are not filled in yet.
func fillIn(what string) { panic(refused{"internal", "FILL IN " + what}) }

func finite(values ...float64) bool {
	for _, value := range values {
		if math.IsNaN(value) || math.IsInf(value, 0) {
			return false
		}
	}
	return true
}

// What this adapter does not know must not be ignored.
func known(parameters object, names ...string) {
	for given := range parameters {
		found := false
		for _, name := range names {
			found = found || name == given
		}
		require(found, "unknown parameter: "+given)
	}
}

// A uniform number in (0, 1) from the system's entropy, and a standard normal one.
func uniform() float64 {
	var word uint64
	if err := binary.Read(rand.Reader, binary.LittleEndian, &word); err != nil {
		panic(err)
	}
	return (float64(word>>11) + 0.5) / (1 << 53)
}

func normal() float64 { return math.Sqrt(-2*math.Log(uniform())) * math.Cos(2*math.Pi*uniform()) }

func number(from object, key string) float64 {
	value, good := from[key].(float64)
	require(good && finite(value), key+" must be a finite number")
	return value
}

func flatten(value any, out []float64) []float64 {
	switch v := value.(type) {
	case float64:
		return append(out, v)
	case []any:
		for _, part := range v {
			out = flatten(part, out)
		}
	}
	return out
}

// Rows of an array of two axes; one of one axis is one row.
func unpack(array any, kind ...string) [][]float64 {
	var flat []float64
	width := 0
	switch a := array.(type) {
	case []any:
		flat, width = flatten(a, nil), len(a)
		if len(a) > 0 {
			if row, nested := a[0].([]any); nested {
				width = len(row)
			}
		}
	case object:
		text, _ := a["base64"].(string)
		raw, err := base64.StdEncoding.DecodeString(text)
		shape := flatten(a["shape"], nil)
		size := 8.0
		for _, axis := range shape {
			size *= axis
		}
		require(err == nil && len(shape) > 0 && float64(len(raw)) == size, "base64 and shape do not fit", kind...)
		for ; len(raw) > 0; raw = raw[8:] {
			flat = append(flat, math.Float64frombits(binary.LittleEndian.Uint64(raw)))
		}
		width = int(shape[len(shape)-1])
	}
	require(width > 0 && len(flat)%width == 0, "an array must be there, with rows of one length", kind...)
	rows := [][]float64{}
	for ; len(flat) > 0; flat = flat[width:] {
		rows = append(rows, flat[:width])
	}
	return rows
}

// Row-major little-endian float64 in base64, with the shape.
func pack(values []float64, shape ...int) object {
	raw := make([]byte, 0, 8*len(values))
	for _, value := range values {
		raw = binary.LittleEndian.AppendUint64(raw, math.Float64bits(value))
	}
	return object{"shape": shape, "base64": base64.StdEncoding.EncodeToString(raw)}
}

func joined(rows [][]float64) []float64 {
	var out []float64
	for _, row := range rows {
		out = append(out, row...)
	}
	return out
}

func keep(request object) object {
	rows, labels := unpack(request["features"], "invalid-data"), flatten(request["labels"], nil)
	require(len(rows) == len(labels), "features must be n x p, with n labels", "invalid-data")
	require(finite(joined(rows)...) && finite(labels...), "features and labels must be finite", "invalid-data")
	datasets[request["name"].(string)] = dataset{rows, labels}
	return object{"records": len(rows), "columns": len(rows[0])}
}

func answer(request object) (result object) {
	id := request["id"]
	defer func() { // an error becomes an answer, never a crash
		if cause := recover(); cause != nil {
			told, good := cause.(refused)
			if !good {
				told = refused{"internal", fmt.Sprint(cause)}
			}
			result = object{"id": id, "error": object{"kind": told.kind, "message": told.message}}
		}
	}()
	if name, asked := request["data"].(string); asked {
		_, there := datasets[name]
		require(there, "no such data set: "+name, "invalid-data")
	}
	what := request["request"].(string)
	switch handler, offered := handlers[what]; {
	case what == "start":
		return object{"id": id, "result": start()}
	case what == "data":
		return object{"id": id, "result": keep(request)}
	case what == "stop":
		return object{"id": id, "result": object{}}
	case offered:
		return object{"id": id, "result": handler(request)}
	}
	return object{"id": id, "skipped": object{"reason": what + " is not offered"}}
}

func main() {
	input, output := bufio.NewReaderSize(os.Stdin, 1<<20), bufio.NewWriter(os.Stdout)
	for {
		line, err := input.ReadBytes('\n')
		if err != nil {
			return
		}
		var request object
		if json.Unmarshal(line, &request) != nil {
			request = object{"id": 0, "request": "nothing"}
		}
		text, err := json.Marshal(answer(request))
		if err != nil {
			text, _ = json.Marshal(object{"id": request["id"], "error": object{"kind": "internal", "message": err.Error()}})
		}
		output.Write(append(text, '\n'))
		output.Flush()
		if request["request"] == "stop" {
			return
		}
	}
}

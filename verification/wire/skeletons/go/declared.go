var names = []string{"iterations", "scale", "bound"} // the parameters of your claim file; others are refused

// The scale of the noise and the sensitivity that you claim, of every release.
func protection(parameters map[string]float64, records, columns int) (scale, sensitivity float64) {
	fillIn("1: return scale, sensitivity")
	return
}

// The next value before its noise, from the records and the values released so far.
func before(rows [][]float64, labels []float64, released [][]float64, parameters map[string]float64) []float64 {
	fillIn("2: return the next value before its noise")
	return nil
}

// Your own noise: so many numbers.
func noise(size int, parameters map[string]float64) (drawn []float64) {
	fillIn("3: return the noise of one release")
	return
}

func start() object {
	return object{"protocol": 1, "name": "my-algorithm", "version": "0.1", "language": "go",
		"declared": []string{"my-algorithm"}, "capabilities": []string{"record", "trials"}}
}

// What leaves and what protects it (docs/reference/declaration.md); say here what is different in yours.
func declare(request object) object {
	q := checked(request)
	scale, sensitivity := protection(q, int(number(request, "records")), int(number(request, "columns")))
	value := object{"name": "value", "noise": "gaussian", "norm": "l2", "scale": scale, "sensitivity": sensitivity}
	return object{"name": "my-algorithm", "neighbours": "replace-one", "iterations": int(q["iterations"]),
		"bound": object{"kind": "normalise", "radius": q["bound"]}, "values": []object{value}}
}

func checked(request object) map[string]float64 {
	given, q := request["parameters"].(object), map[string]float64{}
	known(given, names...)
	for _, name := range names {
		q[name] = number(given, name)
	}
	require(q["iterations"] >= 1 && q["iterations"] == math.Trunc(q["iterations"]), "iterations must be a number of releases")
	return q
}

// One run from the inside; `outputs` are taken as released in place of what the run would release.
func record(request object) object {
	outputs, _ := request["outputs"].(object)
	released, befores, noises := run(request, outputs["value"])
	shape := []int{len(released), len(released[0])}
	shown := object{"released": pack(joined(released), shape...), "before": pack(joined(befores), shape...),
		"noise": pack(joined(noises), shape...)}
	return object{"values": object{"value": shown}}
}

// `count` independent runs as in production.
func trials(request object) object {
	runs := []object{}
	for i := 0; i < int(number(request, "count")); i++ {
		released, _, _ := run(request, nil)
		runs = append(runs, object{"released": object{"value": pack(joined(released), len(released), len(released[0]))}})
	}
	return object{"runs": runs}
}

// Released, before and noise of every release.
func run(request object, outputs any) (released, befores, noises [][]float64) {
	q, d := checked(request), datasets[request["data"].(string)]
	given := [][]float64{}
	if outputs != nil {
		given = unpack(outputs)
	}
	for k := 0; k < int(q["iterations"]); k++ {
		value := before(d.rows, d.labels, released, q)
		added := noise(len(value), q)
		own := make([]float64, len(value))
		for j := range own {
			own[j] = value[j] + added[j]
		}
		if k < len(given) {
			own = given[k]
		}
		released, befores, noises = append(released, own), append(befores, value), append(noises, added)
	}
	return released, befores, noises
}

var handlers = map[string]func(object) object{"declare": declare, "record": record, "trials": trials}

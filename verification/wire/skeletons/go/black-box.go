// One run on these records, with your own randomness: every number that leaves it.
func train(rows [][]float64, labels []float64) []float64 {
	fillIn("1: return everything that one run releases")
	return nil
}

func start() object { return object{"protocol": 1, "name": "my-algorithm"} }

// `count` independent runs.
func trials(request object) object {
	d, released := datasets[request["data"].(string)], [][]float64{}
	for i := 0; i < int(number(request, "count")); i++ {
		released = append(released, train(d.rows, d.labels))
	}
	return object{"released": pack(joined(released), len(released), len(released[0]))}
}

var handlers = map[string]func(object) object{"trials": trials}

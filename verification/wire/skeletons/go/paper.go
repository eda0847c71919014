type parameters struct {
	lambda, rho, sigma, clip float64
	batch                    int
	eta                      []float64
}

// The gradient of the loss at one record, *clipped* to norm q.clip; p numbers.
func recordGradient(features []float64, label float64, x []float64, q parameters) []float64 {
	fillIn("1: return one record's clipped gradient")
	return nil
}

// One ADMM iteration from the noisy mean gradient: the new x, z, y.
func update(x, z, y, gradient []float64, eta float64, q parameters) (newX, newZ, newY []float64) {
	fillIn("2: return the new x, z, y")
	return
}

// Your own randomness: a batch of q.batch of `count` record indices, and `dimension` noise values.
func draw(count, dimension int, q parameters) (batch []int, noise []float64) {
	fillIn("3: return the batch and the noise of one iteration")
	return
}

func start() object {
	return object{
		"protocol": 1, "name": "my-admm", "version": "0.1", "language": "go",
		// Extend these when your code can do more (mpadmm, other losses, seed, ...).
		"algorithms": []string{"ssadmm"}, "losses": []string{"logistic"}, "regularizers": []string{"l1"},
		"capabilities": []string{"replay", "trials", "every-iterate", "clip", "initial"},
		// Every value that leaves your implementation, honestly: what is not listed cannot be checked.
		"released": object{"ssadmm": []string{"x", "z", "y"}},
	}
}

// The parameters, the records, and where to start, if all of it makes sense.
func checked(request object) (q parameters, d dataset, initial [3][]float64) {
	v, d := request["parameters"].(object), datasets[request["data"].(string)]
	known(v, "loss", "regularizer", "lambda", "options", "rho", "eta", "iterations", "batch", "sigma", "clip",
		"intercept", "initial")
	offered := request["algorithm"] == "ssadmm" && v["loss"] == "logistic" && v["regularizer"] == "l1"
	require(offered && v["intercept"] != true, "offered is ssadmm with logistic loss and l1, without intercept")
	q = parameters{number(v, "lambda"), number(v, "rho"), number(v, "sigma"), number(v, "clip"), int(number(v, "batch")),
		flatten(v["eta"], nil)}
	require(q.rho > 0 && q.clip > 0 && q.lambda >= 0 && q.sigma >= 0, "rho, clip > 0; lambda, sigma >= 0")
	steps := finite(q.eta...) && len(q.eta) > 0 && float64(len(q.eta)) == number(v, "iterations")
	for _, eta := range q.eta {
		steps = steps && eta > 0
	}
	require(steps, "eta must hold a step size > 0 for every iteration")
	require(q.batch >= 1 && q.batch <= len(d.rows), fmt.Sprint("batch must lie in 1..", len(d.rows)))
	for _, label := range d.labels {
		require(math.Abs(label) == 1, "labels must be -1 or 1", "invalid-data")
	}
	for i, name := range []string{"x", "z", "y"} {
		initial[i] = make([]float64, len(d.rows[0]))
		if points, given := v["initial"].(object); given {
			initial[i] = joined(unpack(points[name]))
		}
		good := len(initial[i]) == len(d.rows[0]) && finite(initial[i]...)
		require(good, fmt.Sprintf("initial points must have %d finite entries", len(d.rows[0])))
	}
	return q, d, initial
}

// Batches and noise come with the request; nothing here may be random.
func replay(request object) object {
	q, d, _ := checked(request)
	batches, noise := unpack(request["batches"]), unpack(request["noise"].(object)["gradient"])
	require(len(batches) == len(q.eta) && len(batches[0]) == q.batch, "batches must have the size of the parameters")
	good := len(noise) == len(q.eta) && len(noise[0]) == len(d.rows[0]) && finite(joined(noise)...)
	require(good, "noise must be finite, of shape iterations x columns")
	chosen := make([][]int, len(batches))
	for k, batch := range batches {
		seen := map[float64]bool{}
		for _, i := range batch {
			require(!seen[i] && i == math.Trunc(i) && i >= 0 && int(i) < len(d.rows), "batches must hold distinct records")
			seen[i] = true
			chosen[k] = append(chosen[k], int(i))
		}
	}
	all := run(request, 1, false, func(k int) ([]int, []float64) { return chosen[k], noise[k] })
	return packed(all, len(q.eta), len(d.rows[0]))
}

// `count` independent runs with the implementation's own batches and noise.
func trials(request object) object {
	q, d, _ := checked(request)
	count, last := int(number(request, "count")), request["show"] == "last"
	all := run(request, count, last, func(int) ([]int, []float64) { return draw(len(d.rows), len(d.rows[0]), q) })
	if last {
		return packed(all, count, len(d.rows[0]))
	}
	return packed(all, count, len(q.eta), len(d.rows[0]))
}

// All iterates x, z, y, or the last ones, for given batches and noise.
func run(request object, count int, last bool, drawn func(int) ([]int, []float64)) (all [3][]float64) {
	q, d, initial := checked(request)
	for ; count > 0; count-- {
		x, z, y := initial[0], initial[1], initial[2]
		for k, eta := range q.eta {
			batch, noise := drawn(k)
			mean := append([]float64{}, noise...)
			for _, i := range batch {
				for j, value := range recordGradient(d.rows[i], d.labels[i], x, q) {
					mean[j] += value / float64(len(batch))
				}
			}
			x, z, y = update(x, z, y, mean, eta, q)
			if !last || k+1 == len(q.eta) {
				all = [3][]float64{append(all[0], x...), append(all[1], z...), append(all[2], y...)}
			}
		}
	}
	return all
}

func packed(all [3][]float64, shape ...int) object {
	return object{"x": pack(all[0], shape...), "z": pack(all[1], shape...), "y": pack(all[2], shape...)}
}

var handlers = map[string]func(object) object{"replay": replay, "trials": trials}

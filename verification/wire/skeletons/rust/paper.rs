struct Parameters {
    lambda: f64,
    rho: f64,
    sigma: f64,
    clip: f64,
    batch: usize,
    eta: Vec<f64>,
}

/// The gradient of the loss at one record, *clipped* to norm `q.clip`.
fn record_gradient(features: &[f64], label: f64, x: &[f64], q: &Parameters) -> Fallible<Vec<f64>> {
    fill_in("1: return one record's clipped gradient")
}

/// One ADMM iteration from the noisy mean gradient: the new (x, z, y).
fn update(x: &[f64], z: &[f64], y: &[f64], g: &[f64], eta: f64, q: &Parameters) -> Fallible<[Vec<f64>; 3]> {
    fill_in("2: return the new x, z, y")
}

/// Your own randomness: a batch of `q.batch` of `count` record indices, and `p` noise values.
fn draw(random: &mut Random, count: usize, p: usize, q: &Parameters) -> Fallible<(Vec<usize>, Vec<f64>)> {
    fill_in("3: return the batch and the noise of one iteration")
}

// Extend this when your code can do more (mpadmm, other losses, seed, ...). `released`: every value that leaves your
// implementation, honestly; what is not listed cannot be checked.
const START: &str = r#"{"protocol":1,"name":"my-admm","version":"0.1","language":"rust","algorithms":["ssadmm"],
    "losses":["logistic"],"regularizers":["l1"],"capabilities":["replay","trials","every-iterate","clip","initial"],
    "released":{"ssadmm":["x","z","y"]}}"#;

/// The parameters, if they make sense with the records, and where to start.
fn checked(request: &Json, d: &Dataset) -> Fallible<(Parameters, [Vec<f64>; 3])> {
    let (v, p) = (request.get("parameters"), d.rows[0].len());
    known(v, &["loss", "regularizer", "lambda", "options", "rho", "eta", "iterations", "batch", "sigma", "clip",
        "intercept", "initial"])?;
    let offered = request.get("algorithm").text() == "ssadmm" && v.get("loss").text() == "logistic"
        && v.get("regularizer").text() == "l1" && v.get("intercept").text() != "true";
    require(offered, "offered is ssadmm with logistic loss and l1, without intercept")?;
    let (lambda, rho, sigma, clip) = (v.number("lambda")?, v.number("rho")?, v.number("sigma")?, v.number("clip")?);
    require(rho > 0.0 && clip > 0.0 && lambda >= 0.0 && sigma >= 0.0, "rho, clip > 0; lambda, sigma >= 0")?;
    let (batch, eta) = (v.number("batch")?, v.get("eta").flat());
    let steps = !eta.is_empty() && eta.len() as f64 == v.number("iterations")?;
    require(steps && finite(&eta) && eta.iter().all(|e| *e > 0.0), "eta must hold a step size > 0 for every iteration")?;
    require(batch.fract() == 0.0 && batch >= 1.0 && batch <= d.rows.len() as f64, "batch must lie in 1..n")?;
    if d.labels.iter().any(|label| label.abs() != 1.0) {
        return Err(("invalid-data", "labels must be -1 or 1".into()));
    }
    let mut initial = [vec![0.0; p], vec![0.0; p], vec![0.0; p]];
    if let points @ Json::Object(_) = v.get("initial") {
        for (point, name) in initial.iter_mut().zip(["x", "z", "y"]) {
            *point = points.get(name).rows()?.concat();
            require(point.len() == p && finite(point), "initial points must be finite, one entry a column")?;
        }
    }
    Ok((Parameters { lambda, rho, sigma, clip, batch: batch as usize, eta }, initial))
}

/// Batches and noise come with the request; nothing here may be random.
fn replay(request: &Json, d: &Dataset) -> Fallible<String> {
    let (q, initial) = checked(request, d)?;
    let (batches, noise) = (request.get("batches").rows()?, request.get("noise").get("gradient").rows()?);
    require(batches.len() == q.eta.len() && batches[0].len() == q.batch, "batches must fit the parameters")?;
    let shaped = noise.len() == q.eta.len() && noise[0].len() == d.rows[0].len() && finite(&noise.concat());
    require(shaped, "noise must be finite, of shape iterations x columns")?;
    let mut draws = Vec::new();
    for (batch, noise) in batches.iter().zip(noise) {
        let mut chosen: Vec<usize> = batch.iter().map(|i| *i as usize).collect();
        let there = batch.iter().all(|i| i.fract() == 0.0 && *i >= 0.0 && (*i as usize) < d.rows.len());
        draws.push((chosen.clone(), noise));
        chosen.sort();
        chosen.dedup();
        require(there && chosen.len() == q.batch, "batches must hold distinct records")?;
    }
    let mut all = Default::default();
    run(d, &q, &initial, draws, false, &mut all)?;
    Ok(packed_run(&all, &[q.eta.len(), d.rows[0].len()]))
}

/// `count` independent runs with the implementation's own batches and noise.
fn trials(request: &Json, d: &Dataset) -> Fallible<String> {
    let (q, initial) = checked(request, d)?;
    let (count, last) = (request.number("count")? as usize, request.get("show").text() == "last");
    let (mut random, mut all) = (Random::open()?, Default::default());
    for _ in 0..count {
        let draws: Fallible<Vec<_>> =
            q.eta.iter().map(|_| draw(&mut random, d.rows.len(), d.rows[0].len(), &q)).collect();
        run(d, &q, &initial, draws?, last, &mut all)?;
    }
    let p = d.rows[0].len();
    Ok(if last { packed_run(&all, &[count, p]) } else { packed_run(&all, &[count, q.eta.len(), p]) })
}

/// Adds all iterates x, z, y, or the last ones, for given batches and noise.
fn run(
    d: &Dataset, q: &Parameters, initial: &[Vec<f64>; 3], draws: Vec<(Vec<usize>, Vec<f64>)>, last: bool,
    all: &mut [Vec<f64>; 3],
) -> Fallible<()> {
    let mut state = initial.clone();
    for (k, (batch, noise)) in draws.into_iter().enumerate() {
        let mut mean = noise;
        for i in &batch {
            let g = record_gradient(&d.rows[*i], d.labels[*i], &state[0], q)?;
            mean.iter_mut().zip(g).for_each(|(sum, value)| *sum += value / batch.len() as f64);
        }
        state = update(&state[0], &state[1], &state[2], &mean, q.eta[k], q)?;
        if !last || k + 1 == q.eta.len() {
            all.iter_mut().zip(&state).for_each(|(kept, value)| kept.extend(value));
        }
    }
    Ok(())
}

fn packed_run(all: &[Vec<f64>; 3], shape: &[usize]) -> String {
    let [x, z, y] = [packed(&all[0], shape), packed(&all[1], shape), packed(&all[2], shape)];
    format!("{{\"x\":{x},\"z\":{z},\"y\":{y}}}")
}

fn handle(what: &str, request: &Json, d: &Dataset) -> Fallible<Option<String>> {
    Ok(match what {
        "replay" => Some(replay(request, d)?),
        "trials" => Some(trials(request, d)?),
        _ => None,
    })
}

const KNOWN: [&str; 3] = ["iterations", "scale", "bound"]; // the parameters of your claim file; others are refused

type Parameters = HashMap<&'static str, f64>;

/// The scale of the noise and the sensitivity that you claim, of every release.
fn protection(parameters: &Parameters, records: usize, columns: usize) -> Fallible<(f64, f64)> {
    fill_in("1: return (scale, sensitivity)")
}

/// The next value before its noise, from the records and the values released so far.
fn before(rows: &[Vec<f64>], labels: &[f64], released: &[Vec<f64>], parameters: &Parameters) -> Fallible<Vec<f64>> {
    fill_in("2: return the next value before its noise")
}

/// Your own noise: so many numbers.
fn noise(random: &mut Random, size: usize, parameters: &Parameters) -> Fallible<Vec<f64>> {
    fill_in("3: return the noise of one release")
}

const START: &str = r#"{"protocol":1,"name":"my-algorithm","version":"0.1","language":"rust",
    "declared":["my-algorithm"],"capabilities":["record","trials"]}"#;

/// What leaves and what protects it (docs/reference/declaration.md); say here what is different in yours.
fn declare(request: &Json) -> Fallible<String> {
    let q = checked(request)?;
    let (records, columns) = (request.number("records")? as usize, request.number("columns")? as usize);
    let (scale, sensitivity) = protection(&q, records, columns)?;
    let (bound, iterations) = (q["bound"], q["iterations"]);
    Ok(format!(
        r#"{{"name":"my-algorithm","neighbours":"replace-one","bound":{{"kind":"normalise","radius":{bound}}},
        "iterations":{iterations},"values":[{{"name":"value","noise":"gaussian","norm":"l2","scale":{scale},
        "sensitivity":{sensitivity}}}]}}"#
    )
    .replace('\n', " "))
}

fn checked(request: &Json) -> Fallible<Parameters> {
    known(request.get("parameters"), &KNOWN)?;
    let mut q = HashMap::new();
    for name in KNOWN {
        q.insert(name, request.get("parameters").number(name)?);
    }
    require(q["iterations"] >= 1.0 && q["iterations"].fract() == 0.0, "iterations must be a number of releases")?;
    Ok(q)
}

/// One run from the inside; `outputs` are taken as released in place of what the run would release.
fn record(request: &Json, d: &Dataset) -> Fallible<String> {
    let shown = run(request, d, request.get("outputs").get("value"))?;
    let shape = [shown[0].len(), shown[0][0].len()];
    let [released, before, noise] = shown.map(|rows| packed(&rows.concat(), &shape));
    Ok(format!(r#"{{"values":{{"value":{{"released":{released},"before":{before},"noise":{noise}}}}}}}"#))
}

/// `count` independent runs as in production.
fn trials(request: &Json, d: &Dataset) -> Fallible<String> {
    let mut runs = Vec::new();
    for _ in 0..request.number("count")? as usize {
        let [released, ..] = run(request, d, &Json::Null)?;
        let value = packed(&released.concat(), &[released.len(), released[0].len()]);
        runs.push(format!(r#"{{"released":{{"value":{value}}}}}"#));
    }
    Ok(format!(r#"{{"runs":[{}]}}"#, runs.join(",")))
}

/// Released, before and noise of every release.
fn run(request: &Json, d: &Dataset, outputs: &Json) -> Fallible<[Vec<Vec<f64>>; 3]> {
    let (q, mut random) = (checked(request)?, Random::open()?);
    let given = if let Json::Null = outputs { vec![] } else { outputs.rows()? };
    let [mut released, mut befores, mut noises] = [vec![], vec![], vec![]];
    for k in 0..q["iterations"] as usize {
        let value = before(&d.rows, &d.labels, &released, &q)?;
        let added = noise(&mut random, value.len(), &q)?;
        let own = value.iter().zip(&added).map(|(v, a)| v + a).collect();
        released.push(given.get(k).cloned().unwrap_or(own));
        befores.push(value);
        noises.push(added);
    }
    Ok([released, befores, noises])
}

fn handle(what: &str, request: &Json, d: &Dataset) -> Fallible<Option<String>> {
    Ok(match what {
        "declare" => Some(declare(request)?),
        "record" => Some(record(request, d)?),
        "trials" => Some(trials(request, d)?),
        _ => None,
    })
}

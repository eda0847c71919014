/// One run on these records, with your own randomness: every number that leaves it.
fn train(rows: &[Vec<f64>], labels: &[f64], random: &mut Random) -> Fallible<Vec<f64>> {
    fill_in("1: return everything that one run releases")
}

const START: &str = r#"{"protocol":1,"name":"my-algorithm"}"#;

/// `count` independent runs.
fn handle(what: &str, request: &Json, d: &Dataset) -> Fallible<Option<String>> {
    if what != "trials" {
        return Ok(None);
    }
    let (mut random, mut released) = (Random::open()?, Vec::new());
    for _ in 0..request.number("count")? as usize {
        released.push(train(&d.rows, &d.labels, &mut random)?);
    }
    Ok(Some(format!(r#"{{"released":{}}}"#, packed(&released.concat(), &[released.len(), released[0].len()]))))
}

//! An adapter for dpadmm, protocol 1: newline-delimited JSON on stdin and stdout (docs/reference/protocol.md).
//!
//! Fill in the three lines marked FILL IN with calls of your implementation, then run:
//!     rustc -O adapter.rs
//!     dpadmm adapter smoke -- ./adapter
//!     dpadmm conform -- ./adapter
//! Log with eprintln!, never with println!. Extend `start` when your code can do more.
#![allow(unused_variables, dead_code, unused_imports)]
use std::collections::HashMap;
use std::convert::TryInto;
use std::io::{self, BufRead, Write};

type Fallible<T> = Result<T, (&'static str, String)>; // (kind, message) of an `error` answer

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
    let v: f64 = features.iter().zip(x).map(|(a, b)| label * a * b).sum(); let g: Vec<f64> = features.iter().map(|a| -label * a / (1.0 + v.exp())).collect(); let norm = g.iter().map(|a| a * a).sum::<f64>().sqrt(); Ok(g.iter().map(|a| a * (q.clip / norm).min(1.0)).collect())
}

/// One ADMM iteration from the noisy mean gradient: the new (x, z, y).
fn update(x: &[f64], z: &[f64], y: &[f64], g: &[f64], eta: f64, q: &Parameters) -> Fallible<[Vec<f64>; 3]> {
    let t = q.lambda / q.rho; let x1: Vec<f64> = (0..x.len()).map(|j| (-g[j] - y[j] + q.rho * z[j] + x[j] / eta) / (q.rho + 1.0 / eta)).collect(); let z1: Vec<f64> = x1.iter().zip(y).map(|(a, d)| a + d / q.rho).map(|w| (w - t).max(0.0) + (w + t).min(0.0)).collect(); let y1 = (0..x.len()).map(|j| y[j] + q.rho * (x1[j] - z1[j])).collect(); Ok([x1, z1, y1])
}

/// Your own randomness: a batch of `q.batch` of `count` record indices, and `p` noise values.
fn draw(random: &mut Random, count: usize, p: usize, q: &Parameters) -> Fallible<(Vec<usize>, Vec<f64>)> {
    let mut all: Vec<usize> = (0..count).collect(); for i in 0..q.batch { let j = i + random.word() as usize % (count - i); all.swap(i, j); } all.truncate(q.batch); Ok((all, (0..p).map(|_| q.sigma * (-2.0 * random.uniform().ln()).sqrt() * (std::f64::consts::TAU * random.uniform()).cos()).collect()))
}

/// Words of the system's entropy, for those who have no generator of their own yet.
struct Random(std::fs::File);

impl Random {
    fn word(&mut self) -> u64 {
        let mut bytes = [0; 8];
        io::Read::read_exact(&mut self.0, &mut bytes).expect("/dev/urandom");
        u64::from_le_bytes(bytes)
    }
    fn uniform(&mut self) -> f64 {
        ((self.word() >> 11) as f64 + 0.5) / (1u64 << 53) as f64
    }
}

struct Dataset {
    features: Vec<f64>,
    labels: Vec<f64>,
    columns: usize,
}

// ---- JSON ---------------------------------------------------------------------------------------------------

enum Json {
    Null,
    Number(f64),
    Text(String),
    List(Vec<Json>),
    Object(HashMap<String, Json>),
}

struct Parser<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Parser<'_> {
    fn peek(&mut self) -> u8 {
        while self.at < self.bytes.len() && self.bytes[self.at].is_ascii_whitespace() {
            self.at += 1;
        }
        *self.bytes.get(self.at).unwrap_or(&0)
    }
    fn text(&mut self) -> String {
        let mut out = Vec::new();
        self.at += 1;
        while self.at < self.bytes.len() && self.bytes[self.at] != b'"' {
            if self.bytes[self.at] == b'\\' {
                self.at += 1; // the protocol's own strings need no escapes beyond these
            }
            out.push(self.bytes[self.at]);
            self.at += 1;
        }
        self.at += 1;
        String::from_utf8_lossy(&out).into_owned()
    }
    fn items<T>(&mut self, end: u8, mut item: impl FnMut(&mut Self) -> Fallible<T>) -> Fallible<Vec<T>> {
        let mut out = Vec::new();
        self.at += 1;
        loop {
            match self.peek() {
                0 => return Err(("invalid-parameters", "not JSON".into())),
                b',' => self.at += 1,
                c if c == end => break,
                _ => out.push(item(self)?),
            }
        }
        self.at += 1;
        Ok(out)
    }
    fn value(&mut self) -> Fallible<Json> {
        match self.peek() {
            b'"' => Ok(Json::Text(self.text())),
            b'[' => Ok(Json::List(self.items(b']', |p| p.value())?)),
            b'{' => {
                let pairs = self.items(b'}', |p| {
                    let key = p.text();
                    p.peek();
                    p.at += 1; // the colon
                    Ok((key, p.value()?))
                })?;
                Ok(Json::Object(pairs.into_iter().collect()))
            }
            _ => {
                let start = self.at;
                while self.at < self.bytes.len() && !b",]} \n\r\t".contains(&self.bytes[self.at]) {
                    self.at += 1;
                }
                let word = std::str::from_utf8(&self.bytes[start..self.at]).unwrap_or("");
                match word {
                    "null" => Ok(Json::Null),
                    "true" => Ok(Json::Number(1.0)),
                    "false" => Ok(Json::Number(0.0)),
                    _ => word.parse().map(Json::Number).map_err(|_| ("invalid-parameters", "not JSON".into())),
                }
            }
        }
    }
}

impl Json {
    fn get(&self, key: &str) -> &Json {
        match self {
            Json::Object(pairs) => pairs.get(key).unwrap_or(&Json::Null),
            _ => &Json::Null,
        }
    }
    fn number(&self) -> f64 {
        if let Json::Number(value) = self { *value } else { 0.0 }
    }
    fn text(&self) -> &str {
        if let Json::Text(text) = self { text } else { "" }
    }
    fn flatten(&self, out: &mut Vec<f64>) {
        match self {
            Json::Number(value) => out.push(*value),
            Json::List(parts) => parts.iter().for_each(|part| part.flatten(out)),
            _ => {}
        }
    }
    /// The numbers of an array, row by row, and the length of its last axis.
    fn array(&self) -> Fallible<(Vec<f64>, usize)> {
        let mut out = Vec::new();
        if let Json::List(parts) = self {
            self.flatten(&mut out);
            let columns = if let Some(Json::List(row)) = parts.first() { row.len() } else { parts.len() };
            return Ok((out, columns));
        }
        let (mut bits, mut have, mut bytes) = (0u32, 0, Vec::new());
        for c in self.get("base64").text().bytes().take_while(|c| *c != b'=') {
            let Some(six) = ALPHABET.iter().position(|a| *a == c) else {
                return Err(("invalid-data", "not base64".into()));
            };
            bits = bits << 6 | six as u32;
            have += 6;
            if have >= 8 {
                have -= 8;
                bytes.push((bits >> have) as u8);
            }
        }
        out.extend(bytes.chunks_exact(8).map(|b| f64::from_le_bytes(b.try_into().unwrap())));
        let mut shape = Vec::new();
        self.get("shape").flatten(&mut shape);
        Ok((out, *shape.last().unwrap_or(&1.0) as usize))
    }
}

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

fn packed(values: &[f64], shape: &[usize]) -> String {
    let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
    let mut text = String::new();
    for part in bytes.chunks(3) {
        let v = part.iter().fold(0u32, |v, b| v << 8 | *b as u32) << (8 * (3 - part.len()));
        for i in 0..4 {
            text.push(if i <= part.len() { ALPHABET[(v >> (18 - 6 * i) & 63) as usize] as char } else { '=' });
        }
    }
    format!("{{\"shape\":{shape:?},\"base64\":\"{text}\"}}")
}

// ---- the requests -------------------------------------------------------------------------------------------

fn run(request: &Json, data: &HashMap<String, Dataset>, given: Option<(&[f64], &[f64])>) -> Fallible<String> {
    let name = request.get("data").text();
    let d = data.get(name).ok_or(("invalid-data", format!("no such data set: {name}")))?;
    let v = request.get("parameters");
    let q = Parameters {
        lambda: v.get("lambda").number(),
        rho: v.get("rho").number(),
        sigma: v.get("sigma").number(),
        clip: v.get("clip").number(),
        batch: v.get("batch").number() as usize,
        eta: v.get("eta").array()?.0,
    };
    let (n, p, steps) = (d.labels.len(), d.columns, q.eta.len());
    let count = if given.is_some() { 1 } else { request.get("count").number() as usize };
    let last = request.get("show").text() == "last";
    let mut random = Random(std::fs::File::open("/dev/urandom").map_err(|e| ("internal", e.to_string()))?);
    let mut all: [Vec<f64>; 3] = Default::default();
    for _ in 0..count {
        let mut state: [Vec<f64>; 3] = [vec![0.0; p], vec![0.0; p], vec![0.0; p]];
        if let initial @ Json::Object(_) = v.get("initial") {
            state = [initial.get("x").array()?.0, initial.get("z").array()?.0, initial.get("y").array()?.0];
        }
        for k in 0..steps {
            let (batch, noise) = match given {
                Some((batches, noise)) => (
                    batches[k * q.batch..(k + 1) * q.batch].iter().map(|i| *i as usize).collect(),
                    noise[k * p..(k + 1) * p].to_vec(),
                ),
                None => draw(&mut random, n, p, &q)?,
            };
            let mut mean = noise;
            for i in &batch {
                let g = record_gradient(&d.features[i * p..(i + 1) * p], d.labels[*i], &state[0], &q)?;
                mean.iter_mut().zip(g).for_each(|(sum, value)| *sum += value / batch.len() as f64);
            }
            state = update(&state[0], &state[1], &state[2], &mean, q.eta[k], &q)?;
            if !last || k + 1 == steps {
                all.iter_mut().zip(&state).for_each(|(kept, value)| kept.extend(value));
            }
        }
    }
    let shape = match (given, last) {
        (Some(_), _) => vec![steps, p],
        (None, true) => vec![count, p],
        (None, false) => vec![count, steps, p],
    };
    let [x, z, y] = all.map(|values| packed(&values, &shape));
    Ok(format!("{{\"x\":{x},\"z\":{z},\"y\":{y}}}"))
}

fn answer(request: &Json, data: &mut HashMap<String, Dataset>) -> Fallible<String> {
    match request.get("request").text() {
        // `released`: every value that leaves your implementation, honestly; what is not listed cannot be checked.
        "start" => Ok(r#"{"protocol":1,"name":"my-admm","version":"0.1","language":"rust","algorithms":["ssadmm"],
            "losses":["logistic"],"regularizers":["l1"],
            "capabilities":["replay","trials","every-iterate","clip","initial"],
            "released":{"ssadmm":["x","z","y"]}}"#
            .replace('\n', " ")),
        "data" => {
            let (features, columns) = request.get("features").array()?;
            let (labels, _) = request.get("labels").array()?;
            let n = labels.len();
            data.insert(request.get("name").text().into(), Dataset { features, labels, columns });
            Ok(format!("{{\"records\":{n},\"columns\":{columns}}}"))
        }
        "replay" => {
            let (batches, _) = request.get("batches").array()?;
            let (noise, _) = request.get("noise").get("gradient").array()?;
            run(request, data, Some((&batches, &noise)))
        }
        "trials" => run(request, data, None),
        _ => Ok("{}".into()),
    }
}

fn main() {
    let mut data = HashMap::new();
    for line in io::stdin().lock().lines() {
        let line = line.expect("stdin");
        let request = Parser { bytes: line.as_bytes(), at: 0 }.value().unwrap_or(Json::Null);
        let id = request.get("id").number();
        let text = match answer(&request, &mut data) {
            Ok(result) => format!("{{\"id\":{id},\"result\":{result}}}\n"),
            Err((kind, message)) => {
                format!("{{\"id\":{id},\"error\":{{\"kind\":\"{kind}\",\"message\":\"{message}\"}}}}\n")
            }
        };
        io::stdout().write_all(text.as_bytes()).and_then(|()| io::stdout().flush()).expect("stdout");
        if request.get("request").text() == "stop" {
            return;
        }
    }
}

//! An adapter for dpadmm: newline-delimited JSON on stdin and stdout (docs/reference/protocol.md).
//!
//! Fill in the lines marked FILL IN with calls of your implementation; below the line of dashes nothing needs to be
//! changed. Log with eprintln!, never with println!. Build: rustc -O adapter.rs
#![allow(unused_variables, dead_code)]
use std::collections::HashMap;
use std::convert::TryInto;
use std::io::{self, BufRead, Write};

type Fallible<T> = Result<T, (&'static str, String)>; // (kind, message) of an `error` answer

struct Dataset {
    rows: Vec<Vec<f64>>,
    labels: Vec<f64>,
}

@FACE@

// ---------------------------------------------------------------------------------------------------------------------

fn require(good: bool, message: &str) -> Fallible<()> {
    if good { Ok(()) } else { Err(("invalid-parameters", message.into())) }
}

/// Returned by the lines that are not filled in yet.
fn fill_in<T>(what: &str) -> Fallible<T> {
    Err(("internal", format!("FILL IN {what}")))
}

fn finite(values: &[f64]) -> bool {
    values.iter().all(|value| value.is_finite())
}

/// What this adapter does not know must not be ignored.
fn known(parameters: &Json, names: &[&str]) -> Fallible<()> {
    let Json::Object(pairs) = parameters else { return Err(("invalid-parameters", "parameters are missing".into())) };
    match pairs.keys().find(|name| !names.contains(&name.as_str())) {
        Some(name) => Err(("invalid-parameters", format!("unknown parameter: {name}"))),
        None => Ok(()),
    }
}

/// Words of the system's entropy, for those who have no generator of their own yet.
struct Random(std::fs::File);

impl Random {
    fn word(&mut self) -> u64 {
        let mut bytes = [0; 8];
        io::Read::read_exact(&mut self.0, &mut bytes).expect("/dev/urandom");
        u64::from_le_bytes(bytes)
    }
    fn open() -> Fallible<Random> {
        std::fs::File::open("/dev/urandom").map(Random).map_err(|e| ("internal", e.to_string()))
    }
    fn uniform(&mut self) -> f64 {
        ((self.word() >> 11) as f64 + 0.5) / (1u64 << 53) as f64
    }
    fn normal(&mut self) -> f64 {
        (-2.0 * self.uniform().ln()).sqrt() * (std::f64::consts::TAU * self.uniform()).cos()
    }
}

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
                    "true" => Ok(Json::Text("true".into())),
                    "false" => Ok(Json::Null),
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
    fn number(&self, key: &str) -> Fallible<f64> {
        match self.get(key) {
            Json::Number(value) if value.is_finite() => Ok(*value),
            _ => Err(("invalid-parameters", format!("{key} must be a finite number"))),
        }
    }
    fn text(&self) -> &str {
        if let Json::Text(text) = self { text } else { "" }
    }
    fn flat(&self) -> Vec<f64> {
        match self {
            Json::Number(value) => vec![*value],
            Json::List(parts) => parts.iter().flat_map(Json::flat).collect(),
            _ => vec![],
        }
    }
    /// Rows of an array of two axes; one of one axis is one row.
    fn rows(&self) -> Fallible<Vec<Vec<f64>>> {
        let (flat, width) = match self {
            Json::List(parts) => match parts.first() {
                Some(Json::List(row)) => (self.flat(), row.len()),
                _ => (self.flat(), parts.len()),
            },
            _ => self.decoded()?,
        };
        if width == 0 || flat.len() % width != 0 {
            return Err(("invalid-parameters", "an array must be there, with rows of one length".into()));
        }
        Ok(flat.chunks(width).map(|row| row.to_vec()).collect())
    }
    fn decoded(&self) -> Fallible<(Vec<f64>, usize)> {
        let (mut bits, mut have, mut bytes) = (0u32, 0, Vec::new());
        for c in self.get("base64").text().bytes().take_while(|c| *c != b'=') {
            let Some(six) = ALPHABET.iter().position(|a| *a == c) else {
                return Err(("invalid-parameters", "not base64".into()));
            };
            bits = bits << 6 | six as u32;
            have += 6;
            if have >= 8 {
                have -= 8;
                bytes.push((bits >> have) as u8);
            }
        }
        let shape = self.get("shape").flat();
        if shape.is_empty() || bytes.len() as f64 != 8.0 * shape.iter().product::<f64>() {
            return Err(("invalid-parameters", "base64 and shape do not fit".into()));
        }
        let values = bytes.chunks_exact(8).map(|b| f64::from_le_bytes(b.try_into().unwrap())).collect();
        Ok((values, shape[shape.len() - 1] as usize))
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

fn keep(request: &Json, data: &mut HashMap<String, Dataset>) -> Fallible<String> {
    let rows = request.get("features").rows().map_err(|(_, why)| ("invalid-data", why))?;
    let labels = request.get("labels").flat();
    if rows.len() != labels.len() || !finite(&rows.concat()) || !finite(&labels) {
        return Err(("invalid-data", "features must be n x p, with n labels, all finite".into()));
    }
    let told = format!("{{\"records\":{},\"columns\":{}}}", rows.len(), rows[0].len());
    data.insert(request.get("name").text().into(), Dataset { rows, labels });
    Ok(told)
}

/// The member of an answer, and its value.
fn answer(request: &Json, data: &mut HashMap<String, Dataset>) -> Fallible<(&'static str, String)> {
    let (what, name) = (request.get("request").text(), request.get("data").text());
    let told = match what {
        "start" => START.replace('\n', " "),
        "data" => keep(request, data)?,
        "stop" => "{}".into(),
        _ => {
            let unknown = ("invalid-data", format!("no such data set: {name}"));
            let empty = Dataset { rows: vec![], labels: vec![] };
            let d = if name.is_empty() { &empty } else { data.get(name).ok_or(unknown)? };
            match handle(what, request, d)? {
                Some(told) => told,
                None => return Ok(("skipped", format!("{{\"reason\":\"{what} is not offered\"}}"))),
            }
        }
    };
    Ok(("result", told))
}

fn main() {
    let mut data = HashMap::new();
    for line in io::stdin().lock().lines() {
        let line = line.expect("stdin");
        let request = Parser { bytes: line.as_bytes(), at: 0 }.value().unwrap_or(Json::Null);
        let id = request.number("id").unwrap_or(0.0);
        let text = match answer(&request, &mut data) {
            Ok((member, told)) => format!("{{\"id\":{id},\"{member}\":{told}}}\n"),
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

// Compare an accountant with certified values: rustc -O check.rs && ./check accounting.tsv answers.tsv
// Columns are separated by tabs; answers.tsv: id, quantity, value. An answer below `lower` is too small.
use std::{collections::HashMap, env, fs, process};

fn rows(path: &str) -> Vec<Vec<String>> {
    let text = fs::read_to_string(path).expect("a readable file");
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    lines.map(|line| line.split('\t').map(String::from).collect()).collect()
}

fn main() {
    let paths: Vec<String> = env::args().collect();
    let number = |text: &str| text.parse::<f64>().expect("a decimal number");
    let mut ends = HashMap::new();
    for row in &rows(&paths[1])[1..] {
        ends.insert((row[0].clone(), row[1].clone()), (number(&row[3]), number(&row[4])));
    }
    let (answers, mut below) = (rows(&paths[2]), 0);
    for row in &answers {
        let ((lower, upper), answer) = (ends[&(row[0].clone(), row[1].clone())], number(&row[2]));
        if !(answer + f64::from_bits(1) >= lower * (1.0 - 1e-9)) {
            below += 1;
            println!("BELOW {} {}: {}, at least {:.12e}", row[0], row[1], row[2], lower);
        } else if answer > upper * (1.0 + 1e-9) {
            println!("above {} {}: {}, {:.4} times", row[0], row[1], row[2], answer / upper);
        }
    }
    println!("{} answers, {} below", answers.len(), below);
    process::exit(if below > 0 || answers.is_empty() { 1 } else { 0 });
}

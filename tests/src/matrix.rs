//! Tables of what is to be expected, kept as Markdown that people read.

use std::collections::BTreeMap;

/// The cells of the one table in `markdown`, by the names of their row and their column.
///
/// # Panics
/// When a cell stands there twice.
pub fn cells(markdown: &str) -> BTreeMap<(String, String), String> {
    let cells = |line: &str| line.split('|').map(|cell| cell.trim().to_owned()).collect::<Vec<_>>();
    let mut lines = markdown.lines().filter(|line| line.starts_with('|')).map(cells);
    let columns = lines.next().expect("a line with the names of the columns");
    let mut table = BTreeMap::new();
    for line in lines.skip(1) {
        for (column, cell) in columns.iter().zip(&line).skip(2).filter(|(column, _)| !column.is_empty()) {
            let before = table.insert((line[1].clone(), column.clone()), cell.clone());
            assert_eq!(before, None, "{} at {column} stands there twice", line[1]);
        }
    }
    table
}

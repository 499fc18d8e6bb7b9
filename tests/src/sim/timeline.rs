//! A history that people can read: as text, one event a line, and as a picture, with nodes as rows, holds as bars
//! and faults as marks.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::Outcome;
use super::calendar::SECOND;
use super::event::{Event, Look};
use super::plan::Fault;

/// An instant as `h:mm:ss.micros`.
pub fn clock(at: u64) -> String {
    let seconds = at / SECOND;
    format!("{}:{:02}:{:02}.{:06}", seconds / 3_600, seconds / 60 % 60, seconds % 60, at % SECOND)
}

/// Every event, in order; what was broken stands where it was found.
pub fn text(outcome: &Outcome) -> String {
    let mut text = format!("{:#?}\n\n", outcome.plan);
    let mut violations = outcome.violations.iter().peekable();
    let mut nodes = BTreeMap::new();
    for (at, event) in &outcome.events {
        if let Event::Born { process, node } = event {
            nodes.insert(*process, *node);
        }
        let node = event.process().and_then(|process| nodes.get(&process));
        let node = node.map_or_else(|| "  ".into(), |node| format!("n{node}"));
        let _ = writeln!(text, "{} {node} {event}", clock(*at));
        while let Some((_, what)) = violations.next_if(|(found, _)| found <= at) {
            let _ = writeln!(text, "{} !! {what}", clock(*at));
        }
    }
    for (at, what) in violations {
        let _ = writeln!(text, "{} !! {what}", clock(*at));
    }
    text
}

/// One bar of the picture.
struct Bar {
    node: u8,
    lock: u8,
    from: u64,
    to: u64,
    lost: Option<u64>,
    label: String,
}

const ROW: u64 = 44;
const COLOURS: [&str; 3] = ["#3b7dd8", "#2a9d62", "#b8741a"];

/// The picture. Around the first violation if there is one, since an hour is too long to look at.
pub fn picture(outcome: &Outcome) -> String {
    let found = outcome.violations.first().map(|(at, _)| *at);
    let (from, to) =
        found.map_or((0, 600 * SECOND), |at| (at.saturating_sub(180 * SECOND), at + 60 * SECOND));
    let x = |at: u64| 60 + (at.clamp(from, to) - from) / (SECOND / 10);
    let (bars, marks) = gather(&outcome.events, to);
    let rows = outcome.plan.nodes as u64 + 1;
    let (width, height) = (x(to) + 40, rows * ROW + 60);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" font-family=\"sans-serif\" font-size=\"10\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
    );
    let mut tick = from.div_ceil(10 * SECOND) * 10 * SECOND;
    while tick <= to {
        let (at, label) = (x(tick), clock(tick));
        let _ = writeln!(
            svg,
            "<path d=\"M{at} 30V{}\" stroke=\"#ddd\"/><text x=\"{at}\" y=\"24\" text-anchor=\"middle\">{}</text>",
            height - 20,
            label.split('.').next().unwrap_or_default()
        );
        tick += 10 * SECOND;
    }
    for node in 0..rows - 1 {
        let _ =
            writeln!(svg, "<text x=\"10\" y=\"{}\" font-size=\"14\">n{node}</text>", 40 + node * ROW + 18);
    }
    let _ =
        writeln!(svg, "<text x=\"10\" y=\"{}\" font-size=\"14\">store</text>", 40 + (rows - 1) * ROW + 18);
    for bar in bars.iter().filter(|bar| bar.to >= from && bar.from <= to) {
        let y = 40 + u64::from(bar.node) * ROW + u64::from(bar.lock) * 12;
        let (left, right) = (x(bar.from), x(bar.to));
        let colour = COLOURS[usize::from(bar.lock) % COLOURS.len()];
        let _ = writeln!(
            svg,
            "<rect x=\"{left}\" y=\"{y}\" width=\"{}\" height=\"10\" fill=\"{colour}\"><title>{}</title></rect>",
            (right - left).max(1),
            bar.label
        );
        if let Some(lost) = bar.lost {
            let _ = writeln!(
                svg,
                "<rect x=\"{}\" y=\"{y}\" width=\"{}\" height=\"10\" fill=\"#c33\" fill-opacity=\"0.6\"><title>lost</title></rect>",
                x(lost),
                (right.saturating_sub(x(lost))).max(2)
            );
        }
    }
    for (at, row, what) in marks.iter().filter(|(at, ..)| (from..=to).contains(at)) {
        let y = 40 + row.map_or(rows - 1, u64::from) * ROW + 38;
        let _ = writeln!(
            svg,
            "<text x=\"{}\" y=\"{y}\" font-size=\"8\" fill=\"#a33\">\u{2716}<title>{what}</title></text>",
            x(*at)
        );
    }
    if let Some(at) = found {
        let at = x(at);
        let _ = writeln!(svg, "<path d=\"M{at} 30V{}\" stroke=\"red\" stroke-width=\"2\"/>", height - 20);
    }
    svg.push_str("</svg>\n");
    svg
}

type Mark = (u64, Option<u8>, String);

fn gather(events: &[(u64, Event)], end: u64) -> (Vec<Bar>, Vec<Mark>) {
    let mut nodes = BTreeMap::new();
    let mut open: BTreeMap<u32, Bar> = BTreeMap::new();
    let (mut bars, mut marks) = (Vec::new(), Vec::new());
    let mut processes = BTreeMap::new();
    for (at, event) in events {
        match *event {
            Event::Born { process, node } => drop(nodes.insert(process, node)),
            Event::Started { process, lock, call, fence, .. } => {
                let node = nodes.get(&process).copied().unwrap_or(0);
                let label = format!("call {call}, process {process}, fence {fence}, from {}", clock(*at));
                processes.insert(call, process);
                open.insert(call, Bar { node, lock, from: *at, to: end.max(*at), lost: None, label });
            }
            Event::Looked { call, look: Look::Lost, .. } => {
                if let Some(bar) = open.get_mut(&call) {
                    bar.lost.get_or_insert(*at);
                }
            }
            Event::Ended { call } => bars.extend(open.remove(&call).map(|bar| Bar { to: *at, ..bar })),
            Event::Struck { fault, process, length } => {
                let node = nodes.get(&process).copied();
                marks.push((*at, node, format!("{fault:?} {} ms, process {process}", length / 1_000)));
                if fault == Fault::Crash {
                    let dead: Vec<u32> =
                        open.keys().copied().filter(|call| processes.get(call) == Some(&process)).collect();
                    bars.extend(
                        dead.iter().filter_map(|call| open.remove(call)).map(|bar| Bar { to: *at, ..bar }),
                    );
                }
            }
            Event::Forced { lock, fault, .. } => marks.push((*at, None, format!("{fault:?} of lock {lock}"))),
            Event::Sent { process, verb, fault: Some(fault), .. } => {
                marks.push((*at, nodes.get(&process).copied(), format!("{fault:?} of a {verb:?}")));
            }
            _ => {}
        }
    }
    bars.extend(open.into_values());
    (bars, marks)
}

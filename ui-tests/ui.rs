//! What a user reads when a declaration is refused. Fail cases only: one pass case would make every case be built apart.

use std::fs;
use std::io;
use std::path::Path;

const THEMES: [&str; 7] = ["cron", "literal", "name", "options", "placement", "signature", "types"];
const PAGE: &str = include_str!("../tako-lock/src/docs/errors-compile.md");
const ANCHOR: &str = "docs: https://docs.rs/tako-lock/latest/tako/errors/#";

#[test]
fn refused() {
    let cases = trybuild::TestCases::new();
    for theme in THEMES {
        cases.compile_fail(format!("fail/{theme}/*.rs"));
    }
}

/// A message of a golden or of the page, with the heading that it belongs to.
#[derive(Debug)]
struct Message {
    from: String,
    heading: String,
    text: String,
}

/// The messages that point to the page; the compiler's own do not.
fn of_the_goldens() -> io::Result<Vec<Message>> {
    let mut messages = Vec::new();
    for theme in THEMES {
        for entry in fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("fail").join(theme))? {
            let path = entry?.path();
            if path.extension().is_none_or(|extension| extension != "stderr") {
                continue;
            }
            for block in fs::read_to_string(&path)?.split("\n\n").filter(|block| block.starts_with("error")) {
                let Some((_, anchor)) = block.split_once(ANCHOR) else { continue };
                let (first, _) = block.split_once('\n').unwrap_or((block, ""));
                let (_, text) = first.split_once(": ").unwrap_or_default();
                messages.push(Message {
                    from: path.display().to_string(),
                    heading: anchor.lines().next().unwrap_or_default().trim().to_owned(),
                    text: text.to_owned(),
                });
            }
        }
    }
    Ok(messages)
}

/// The lines in bold under the second-level headings, and the headings as rustdoc makes anchors of them.
fn of_the_page() -> (Vec<Message>, Vec<String>) {
    let (mut messages, mut headings) = (Vec::new(), Vec::new());
    for line in PAGE.lines() {
        if let Some(heading) = line.strip_prefix("## ") {
            headings.push(heading.to_lowercase().replace(' ', "-"));
        }
        let bold = line.strip_prefix("**").and_then(|line| line.strip_suffix("**"));
        if let (Some(text), Some(heading)) = (bold, headings.last()) {
            messages.push(Message {
                from: "the page".to_owned(),
                heading: heading.clone(),
                text: text.to_owned(),
            });
        }
    }
    (messages, headings)
}

/// The text without what differs from call to call: code and quoted names.
fn shape(text: &str) -> String {
    let code = text.split('`').enumerate().map(|(at, part)| if at % 2 == 1 { "_" } else { part });
    let plain = code.collect::<Vec<_>>().join("`");
    plain.split('"').enumerate().map(|(at, part)| if at % 2 == 1 { "_" } else { part }).collect()
}

/// Whether the page's message, in which `…` stands for anything, is this one.
fn is_about(page: &Message, golden: &Message) -> bool {
    let (pattern, mut rest) = (shape(&page.text), &shape(&golden.text)[..]);
    let parts: Vec<&str> = pattern.split('…').collect();
    for (at, part) in parts.iter().enumerate() {
        let found = if at == 0 { rest.starts_with(part).then_some(0) } else { rest.find(part) };
        let Some(found) = found else { return false };
        rest = &rest[found + part.len()..];
    }
    page.heading == golden.heading && (rest.is_empty() || parts.last().is_some_and(|part| part.is_empty()))
}

#[test]
fn the_page_explains_what_is_said_and_nothing_else() -> io::Result<()> {
    let goldens = of_the_goldens()?;
    let (page, headings) = of_the_page();
    assert!(goldens.len() > 140, "only {} messages in the goldens", goldens.len());
    for golden in &goldens {
        assert!(headings.contains(&golden.heading), "{}: no heading `{}`", golden.from, golden.heading);
        assert!(page.iter().any(|page| is_about(page, golden)), "not on the page: {golden:?}");
    }
    for heading in &headings {
        assert!(goldens.iter().any(|golden| golden.heading == *heading), "no message points to `{heading}`");
    }
    for page in &page {
        assert!(goldens.iter().any(|golden| is_about(page, golden)), "nothing says this: {page:?}");
    }
    Ok(())
}

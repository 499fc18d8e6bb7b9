//! As much HTTP/1.1 as the double speaks, written out by hand: it has to cut replies and reset connections.

use std::io;
use std::net::SocketAddr;

use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;

/// No request or reply of a test is larger.
const LIMIT: usize = 1 << 20;

/// One message, either way: the first line, the headers by their names in lower case, the body.
#[derive(Debug, Clone, Default)]
pub(super) struct Message {
    pub(super) first_line: String,
    headers: Vec<(String, String)>,
    pub(super) body: Vec<u8>,
}

impl Message {
    /// `None` when the peer has closed the connection instead.
    pub(super) async fn read(stream: &mut (impl AsyncBufRead + Unpin)) -> io::Result<Option<Message>> {
        let first_line = line(stream).await?;
        if first_line.is_empty() {
            return Ok(None);
        }
        let mut message = Message { first_line, ..Message::default() };
        loop {
            let line = line(stream).await?;
            let Some((name, value)) = line.split_once(':') else { break };
            message.headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
        }
        message.body = if message.header("transfer-encoding").is_some_and(|coding| coding.contains("chunked"))
        {
            chunks(stream).await?
        } else {
            let length =
                message.header("content-length").map_or(Ok(0), str::parse).map_err(io::Error::other)?;
            exactly(stream, length).await?
        };
        Ok(Some(message))
    }

    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(each, _)| each == name).map(|(_, value)| value.as_str())
    }

    /// Method, path and query of a request, with `%` undone.
    pub(super) fn target(&self) -> (String, String, Vec<(String, String)>) {
        let mut words = self.first_line.split(' ');
        let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
        let query = pairs.map(|(name, value)| (plain(name), plain(&value.replace('+', " ")))).collect();
        (method.to_owned(), path.to_owned(), query)
    }

    /// The parts of a multipart body, without their headers.
    pub(super) fn parts(&self) -> Vec<Vec<u8>> {
        let Some((_, boundary)) = self.header("content-type").and_then(|kind| kind.split_once("boundary="))
        else {
            return Vec::new();
        };
        let mark = format!("--{}", boundary.trim_matches('"'));
        // What stands after the last mark is the end; what stands before the first is nothing.
        let pieces = split(&self.body, mark.as_bytes());
        let inner = pieces.iter().skip(1).take(pieces.len().saturating_sub(2));
        inner
            .filter_map(|piece| {
                let start = find(piece, b"\r\n\r\n")? + 4;
                Some(piece.get(start..)?.strip_suffix(b"\r\n")?.to_vec())
            })
            .collect()
    }
}

async fn line(stream: &mut (impl AsyncBufRead + Unpin)) -> io::Result<String> {
    let mut line = String::new();
    stream.take(LIMIT as u64).read_line(&mut line).await?;
    line.truncate(line.trim_end().len());
    Ok(line)
}

async fn exactly(stream: &mut (impl AsyncBufRead + Unpin), length: usize) -> io::Result<Vec<u8>> {
    if length > LIMIT {
        return Err(io::Error::other("too large"));
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await?;
    Ok(body)
}

async fn chunks(stream: &mut (impl AsyncBufRead + Unpin)) -> io::Result<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let length = usize::from_str_radix(&line(stream).await?, 16).map_err(io::Error::other)?;
        body.extend(exactly(stream, length).await?);
        line(stream).await?;
        if length == 0 {
            return Ok(body);
        }
    }
}

fn find(text: &[u8], mark: &[u8]) -> Option<usize> {
    text.windows(mark.len()).position(|window| window == mark)
}

fn split<'a>(mut text: &'a [u8], mark: &[u8]) -> Vec<&'a [u8]> {
    let mut pieces = Vec::new();
    while let Some(at) = find(text, mark) {
        pieces.push(&text[..at]);
        text = &text[at + mark.len()..];
    }
    pieces.push(text);
    pieces
}

/// `text` with each `%2F` and the like undone.
pub(super) fn plain(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        let code = after.get(..2).and_then(|digits| str::from_utf8(digits).ok());
        match code.and_then(|digits| u8::from_str_radix(digits, 16).ok()).filter(|_| *first == b'%') {
            Some(byte) => (bytes.push(byte), rest = &after[2..]).1,
            None => (bytes.push(*first), rest = after).1,
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// An answer of the double.
#[derive(Debug, Clone)]
pub(super) struct Reply {
    pub(super) status: u16,
    pub(super) headers: Vec<(&'static str, String)>,
    pub(super) body: Vec<u8>,
}

impl Reply {
    pub(super) fn json(status: u16, body: &serde_json::Value) -> Reply {
        let headers = vec![("content-type", "application/json; charset=UTF-8".into())];
        Reply { status, headers, body: body.to_string().into_bytes() }
    }

    /// As the service words its errors. Nothing may depend on the texts: they differ between servers.
    pub(super) fn error(status: u16, reason: &str) -> Reply {
        let error = serde_json::json!({ "domain": "global", "reason": reason, "message": reason });
        let error = serde_json::json!({ "code": status, "message": reason, "errors": [error] });
        Reply::json(status, &serde_json::json!({ "error": error }))
    }

    pub(super) fn to_bytes(&self) -> Vec<u8> {
        use std::fmt::Write;
        let mut head = format!("HTTP/1.1 {} Double\r\ncontent-length: {}\r\n", self.status, self.body.len());
        for (name, value) in &self.headers {
            // Writing to a `String` does not fail.
            let _ = write!(head, "{name}: {value}\r\n");
        }
        [head.as_bytes(), b"\r\n", &self.body].concat()
    }
}

/// Sends one request as it stands; the status, the headers and the body of the answer.
///
/// # Errors
/// Those of the connection.
pub async fn send(
    server: SocketAddr,
    method: &str,
    target: &str,
    content_type: &str,
    body: &[u8],
) -> io::Result<Answer> {
    let stream = TcpStream::connect(server).await?;
    let mut stream = BufReader::new(stream);
    let head = format!(
        "{method} {target} HTTP/1.1\r\nhost: {server}\r\nconnection: close\r\ncontent-type: {content_type}\r\n\
         content-length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(&[head.as_bytes(), body].concat()).await?;
    let message = Message::read(&mut stream).await?.ok_or_else(|| io::Error::other("no answer"))?;
    let status = message.first_line.split(' ').nth(1).and_then(|status| status.parse().ok());
    Ok(Answer { status: status.ok_or_else(|| io::Error::other("no status"))?, message })
}

/// What came back from [`send`].
#[derive(Debug, Clone)]
pub struct Answer {
    /// The status.
    pub status: u16,
    message: Message,
}

impl Answer {
    /// The value of the header `name`, given in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.message.header(name)
    }

    /// The body.
    pub fn body(&self) -> &[u8] {
        &self.message.body
    }

    /// The body as JSON; null when it is not.
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.message.body).unwrap_or_default()
    }
}

//! A server of a few lines on a thread: one fixed answer, or a bucket that compares and swaps.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// What a request is answered.
#[derive(Debug, Clone)]
pub(crate) enum Answer {
    /// A status and a body of JSON.
    Text(u16, String),
    /// An object's body, and its generation.
    File(u64, String),
    /// The connection is closed when the request has been read.
    Close,
    /// The connection is closed in the middle of that answer's body.
    Half(Box<Answer>),
}

/// An error as the service words it.
pub(crate) fn error(code: u16, reason: &str) -> Answer {
    let body = format!(
        r#"{{"error":{{"code":{code},"message":"so it is","errors":[{{"reason":"{reason}","domain":"global"}}]}}}}"#
    );
    Answer::Text(code, body)
}

/// The answer to a write.
pub(crate) fn stored(generation: u64) -> Answer {
    let body = format!(
        r#"{{"kind":"storage#object","bucket":"demo-tako","generation":"{generation}","updated":"2026-12-01T12:00:00.250Z"}}"#
    );
    Answer::Text(200, body)
}

/// The answer to a read.
pub(crate) fn file(generation: u64, body: String) -> Answer {
    Answer::File(generation, body)
}

type Behaviour = Box<dyn Fn(&str) -> Answer + Send + Sync>;

struct Shared {
    behaviour: Behaviour,
    requests: Mutex<Vec<String>>,
    connections: AtomicUsize,
    is_over: AtomicBool,
}

pub(crate) struct Server {
    address: SocketAddr,
    shared: Arc<Shared>,
}

impl Server {
    pub(crate) fn always(answer: Answer) -> Server {
        Server::start(Box::new(move |_| answer.clone()))
    }

    /// A bucket as it should be.
    pub(crate) fn bucket() -> Server {
        Server::keeping(|stored, expected| if stored == expected { None } else { Some(412) })
    }

    /// A bucket with a retention policy: nothing is written over.
    pub(crate) fn retained() -> Server {
        Server::keeping(|stored, expected| match stored {
            0 if expected == 0 => None,
            _ if stored == expected => Some(403),
            _ => Some(412),
        })
    }

    /// A server that does not look at the condition.
    pub(crate) fn careless() -> Server {
        Server::keeping(|_, _| None)
    }

    /// `judge` is given the generation that is stored and the one that is expected.
    fn keeping(judge: impl Fn(u64, u64) -> Option<u16> + Send + Sync + 'static) -> Server {
        let objects: Mutex<BTreeMap<String, (u64, String)>> = Mutex::default();
        Server::start(Box::new(move |request| {
            let mut objects = objects.lock().unwrap();
            let target = request.split(' ').nth(1).unwrap_or_default();
            if let Some(name) = target.strip_prefix("/storage/v1/b/demo-tako/o/") {
                let name = name.split('?').next().unwrap_or_default();
                return match objects.get(name) {
                    Some((generation, body)) => file(*generation, body.clone()),
                    None => error(404, "notFound"),
                };
            }
            let query = |key: &str| {
                let mut pairs = target.split(['?', '&']).filter_map(|pair| pair.split_once('='));
                pairs.find(|(name, _)| *name == key).map(|(_, value)| value.to_owned())
            };
            let name = query("name").unwrap_or_default();
            let (generation, _) = objects.get(&name).cloned().unwrap_or_default();
            if let Some(expected) = query("ifGenerationMatch") {
                match judge(generation, expected.parse().unwrap()) {
                    Some(403) => return error(403, "retentionPolicyNotMet"),
                    Some(code) => return error(code, "conditionNotMet"),
                    None => {}
                }
            }
            // The media part: from the last blank line to the boundary after it.
            let media = request.rsplit("\r\n\r\n").next().unwrap_or_default();
            let body = media.split("\r\n--").next().unwrap_or_default();
            objects.insert(name, (generation + 1, body.to_owned()));
            stored(generation + 1)
        }))
    }

    fn start(behaviour: Behaviour) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Arc::new(Shared {
            behaviour,
            requests: Mutex::default(),
            connections: AtomicUsize::new(0),
            is_over: AtomicBool::new(false),
        });
        let here = shared.clone();
        std::thread::spawn(move || {
            for connection in listener.incoming() {
                if here.is_over.load(Ordering::SeqCst) {
                    return;
                }
                here.connections.fetch_add(1, Ordering::SeqCst);
                let here = here.clone();
                // The client may close whenever it likes.
                std::thread::spawn(move || drop(serve(connection.unwrap(), &here)));
            }
        });
        Server { address, shared }
    }

    pub(crate) fn address(&self) -> String {
        self.address.to_string()
    }

    /// What was asked, head and body, in order.
    pub(crate) fn requests(&self) -> Vec<String> {
        self.shared.requests.lock().unwrap().clone()
    }

    pub(crate) fn connections(&self) -> usize {
        self.shared.connections.load(Ordering::SeqCst)
    }
}

impl Server {
    /// Nobody listens any more.
    pub(crate) fn stop(&self) {
        self.shared.is_over.store(true, Ordering::SeqCst);
        // Wakes the listener, which then goes; when it has gone, the next connection is refused.
        while TcpStream::connect(self.address).is_ok() {
            std::thread::yield_now();
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop();
    }
}

fn serve(connection: TcpStream, shared: &Shared) -> std::io::Result<()> {
    let mut reader = BufReader::new(connection.try_clone()?);
    let mut writer = connection;
    while let Some(request) = read(&mut reader)? {
        shared.requests.lock().unwrap().push(request.clone());
        if !write(&mut writer, &(shared.behaviour)(&request))? {
            return Ok(());
        }
    }
    Ok(())
}

fn read(reader: &mut impl BufRead) -> std::io::Result<Option<String>> {
    let mut text = String::new();
    let (mut length, mut is_chunked) = (0, false);
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 {
            return Ok(None);
        }
        let lower = line.to_ascii_lowercase();
        if let Some(value) = lower.strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        is_chunked |= lower.starts_with("transfer-encoding:") && lower.contains("chunked");
        text.push_str(&line);
        if line == "\r\n" {
            break;
        }
    }
    loop {
        if is_chunked {
            let mut line = String::new();
            reader.read_line(&mut line)?;
            length = usize::from_str_radix(line.trim(), 16).unwrap();
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body)?;
        text.push_str(&String::from_utf8_lossy(&body));
        if is_chunked {
            reader.read_line(&mut String::new())?;
        }
        if !is_chunked || length == 0 {
            return Ok(Some(text));
        }
    }
}

/// Whether the connection goes on.
fn write(writer: &mut impl Write, answer: &Answer) -> std::io::Result<bool> {
    let (code, headers, body) = match answer {
        Answer::Text(code, body) => (*code, String::new(), body),
        Answer::File(generation, body) => (200, format!("x-goog-generation: {generation}\r\n"), body),
        Answer::Close => return Ok(false),
        Answer::Half(whole) => {
            let mut bytes = Vec::new();
            write(&mut bytes, whole)?;
            writer.write_all(&bytes[..bytes.len() - 20])?;
            return Ok(false);
        }
    };
    let length = body.len();
    write!(
        writer,
        "HTTP/1.1 {code} So\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n{headers}\r\n{body}"
    )?;
    Ok(true)
}

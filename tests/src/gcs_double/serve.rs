//! The double's side of a connection.

use std::io;
use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

use tako::backend::Record;
use tokio::io::{AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio::time::sleep;

use super::fault::{Fault, Kind};
use super::history::Entry;
use super::http::{Message, Reply, plain};
use super::shelf::Upload;
use super::{Bucket, Floor};

pub(super) async fn serve(listener: TcpListener, floor: Arc<Floor>, mut stopped: oneshot::Receiver<()>) {
    let listener = tokio::net::TcpListener::from_std(listener).expect("a listener");
    loop {
        tokio::select! {
            _ = &mut stopped => return,
            accepted = listener.accept() => {
                let Ok((stream, _)) = accepted else { continue };
                // A connection that breaks is the client's to notice.
                tokio::spawn(converse(stream, floor.clone()));
            }
        }
    }
}

async fn converse(stream: TcpStream, floor: Arc<Floor>) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut stream = BufReader::new(stream);
    while let Some(message) = Message::read(&mut stream).await? {
        let asked = Asked::from(&message);
        let Some(bucket) = asked.bucket.as_deref().and_then(|name| floor.bucket(name)) else {
            stream.write_all(&administer(&floor, &asked, &message).to_bytes()).await?;
            continue;
        };
        let (number, fault) = bucket.note(&asked);
        match answer(&bucket, &asked, number, fault).await {
            Ending::Whole(reply) => stream.write_all(&reply.to_bytes()).await?,
            Ending::Cut(reply) => {
                let bytes = reply.to_bytes();
                let half = bytes.len() - reply.body.len() / 2;
                stream.write_all(&bytes[..half]).await?;
                return stream.shutdown().await;
            }
            Ending::Trickle(reply, pause) => {
                for byte in reply.to_bytes() {
                    stream.write_all(&[byte]).await?;
                    sleep(pause).await;
                }
            }
            Ending::Reset => return stream.get_ref().set_zero_linger(),
            Ending::Silence => {
                // Until the client has had enough.
                let _ = stream.read_to_end(&mut Vec::new()).await;
                return Ok(());
            }
        }
    }
    Ok(())
}

enum Ending {
    Whole(Reply),
    Cut(Reply),
    Trickle(Reply, Duration),
    Reset,
    Silence,
}

async fn answer(bucket: &Bucket, asked: &Asked, number: usize, fault: Option<Fault>) -> Ending {
    match fault {
        Some(Fault::Status(status, reason)) => {
            bucket.amend(number, |entry| entry.status = Some(status));
            return Ending::Whole(Reply::error(status, reason));
        }
        Some(Fault::Reset) => return Ending::Reset,
        Some(Fault::Hang) => return Ending::Silence,
        Some(Fault::Late(delay)) => sleep(delay).await,
        Some(Fault::Removed) => _ = bucket.remove(&asked.object),
        Some(Fault::Replaced(body)) => bucket.put(&asked.object, body.as_bytes()),
        Some(Fault::Closed) => bucket.close(),
        _ => {}
    }
    let ahead = if let Some(Fault::Dated(ahead)) = fault { ahead } else { 0 };
    let (mut reply, made) = bucket.carry_out(asked, ahead);
    match fault {
        Some(Fault::StatusOnceDone(status, reason)) => reply = Reply::error(status, reason),
        Some(Fault::Garbled(body)) => reply.body = body.into(),
        _ => {}
    }
    let is_answered = !matches!(fault, Some(Fault::ResetOnceDone | Fault::HangOnceDone));
    bucket.amend(number, |entry| {
        entry.made = made;
        entry.status = is_answered.then_some(reply.status);
    });
    match fault {
        Some(Fault::ResetOnceDone) => Ending::Reset,
        Some(Fault::HangOnceDone) => Ending::Silence,
        Some(Fault::CutReply) => Ending::Cut(reply),
        Some(Fault::Trickle(pause)) => Ending::Trickle(reply, pause),
        _ => Ending::Whole(reply),
    }
}

/// A request as it was understood.
struct Asked {
    method: String,
    bucket: Option<String>,
    object: String,
    upload: Option<Upload>,
    wants_media: bool,
}

impl Asked {
    fn from(message: &Message) -> Asked {
        let (method, path, query) = message.target();
        let wanted = |name: &str| query.iter().find(|(each, _)| each == name).map(|(_, value)| value.clone());
        let upload = path.strip_prefix("/upload/storage/v1/b/").and_then(|rest| rest.strip_suffix("/o"));
        let object = path.strip_prefix("/storage/v1/b/").and_then(|rest| rest.split_once("/o/"));
        let (bucket, object, upload) = match (upload, object) {
            (Some(bucket), _) => {
                let parts = message.parts();
                let upload = upload_of(&parts, wanted("name"), wanted("ifGenerationMatch"));
                let name = upload.as_ref().map(|upload| upload.name.clone());
                (Some(plain(bucket)), name.unwrap_or_default(), upload)
            }
            (None, Some((bucket, object))) => (Some(plain(bucket)), plain(object), None),
            (None, None) => (None, String::new(), None),
        };
        let wants_media = wanted("alt").as_deref() == Some("media");
        Asked { method, bucket, object, upload, wants_media }
    }

    fn record(&self) -> Option<Record> {
        Record::from_json(&self.upload.as_ref()?.body).ok()
    }
}

/// The first part is the metadata, the second what is to be kept. A third would be a checksum that comes too late.
fn upload_of(parts: &[Vec<u8>], name: Option<String>, if_generation: Option<String>) -> Option<Upload> {
    let [metadata, body] = parts else { return None };
    let metadata: serde_json::Value = serde_json::from_slice(metadata).ok()?;
    let text = |field: &str| metadata[field].as_str().map(str::to_owned);
    let if_generation = match if_generation {
        Some(number) => Some(number.parse().ok()?),
        None => None,
    };
    Some(Upload {
        name: name.or_else(|| text("name"))?,
        if_generation,
        crc32c: text("crc32c"),
        cache_control: text("cacheControl").unwrap_or_default(),
        content_type: text("contentType").unwrap_or_default(),
        body: body.clone(),
    })
}

/// Requests about buckets: only that one is made.
fn administer(floor: &Floor, asked: &Asked, message: &Message) -> Reply {
    let (method, path, _) = message.target();
    let body: serde_json::Value = serde_json::from_slice(&message.body).unwrap_or_default();
    match (method.as_str(), path.as_str(), body["name"].as_str()) {
        ("POST", "/storage/v1/b", Some(name)) if floor.bucket(name).is_some() => {
            Reply::error(409, "conflict")
        }
        ("POST", "/storage/v1/b", Some(name)) => {
            floor.make(name);
            Reply::json(200, &serde_json::json!({ "kind": "storage#bucket", "name": name }))
        }
        _ if asked.bucket.is_some() => Reply::error(404, "notFound"),
        _ => Reply::error(400, "invalid"),
    }
}

impl Bucket {
    /// Writes the request down; its number, and what is to befall it.
    fn note(&self, asked: &Asked) -> (usize, Option<Fault>) {
        let at = self.started.elapsed();
        let mut state = self.state();
        let record = asked.record();
        // A lease is only ever written on a condition.
        let is_clock = asked.upload.as_ref().is_some_and(|upload| upload.if_generation.is_none());
        let kind = match (&record, asked.method.as_str()) {
            _ if is_clock => Kind::Clock,
            (Some(record), "POST") => state.history.kind_of(record),
            (None, "GET") if asked.wants_media => Kind::Load,
            _ => Kind::Other,
        };
        let before = state.history.number_of(kind);
        let rule = state.rules.iter().find(|rule| rule.kind == kind && rule.which.contains(&before));
        let fault = rule.map(|rule| rule.fault).filter(|fault| *fault != Fault::Passes);
        let number = state.history.entries.len();
        state.history.entries.push(Entry {
            at,
            kind,
            object: asked.object.clone(),
            if_generation: asked.upload.as_ref().and_then(|upload| upload.if_generation),
            record,
            fault,
            made: None,
            status: None,
        });
        (number, fault)
    }

    fn amend(&self, number: usize, amend: impl FnOnce(&mut Entry)) {
        if let Some(entry) = self.state().history.entries.get_mut(number) {
            amend(entry);
        }
    }

    /// `ahead`: dated so much ahead of the server's clock.
    fn carry_out(&self, asked: &Asked, ahead: i64) -> (Reply, Option<i64>) {
        let stock = &mut self.state().shelf;
        match (asked.method.as_str(), &asked.upload) {
            ("POST", Some(upload)) => stock.insert(upload, ahead),
            ("GET", None) if asked.wants_media => (stock.media(&asked.object), None),
            ("GET", None) => match stock.metadata(&asked.object) {
                serde_json::Value::Null => (Reply::error(404, "notFound"), None),
                metadata => (Reply::json(200, &metadata), None),
            },
            ("DELETE", None) => (stock.delete(&asked.object), None),
            _ => (Reply::error(400, "invalid"), None),
        }
    }
}

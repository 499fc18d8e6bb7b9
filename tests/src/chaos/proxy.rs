//! One process's way to the store: bytes on loopback, as the weather lets them through.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

/// What becomes of bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Weather {
    Clear,
    /// Connections are reset, and new ones too.
    Cut,
    /// Nothing gets there and nothing back. It gets there, or back, when the weather clears, whoever has gone since.
    Stall {
        there: bool,
        back: bool,
    },
    /// Each piece takes so long, each way.
    Delay(Duration),
    /// Requests get there; the answers are thrown away, and the connection is reset when the weather clears.
    Swallow,
}

/// The proxy. It ends with the runtime.
#[derive(Debug)]
pub(super) struct Proxy {
    pub(super) address: SocketAddr,
    weather: watch::Sender<Weather>,
    touched: Arc<AtomicU64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    There,
    Back,
}

impl Proxy {
    pub(super) async fn start(store: SocketAddr) -> io::Result<Proxy> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let (weather, seen) = watch::channel(Weather::Clear);
        let proxy = Proxy { address: listener.local_addr()?, weather, touched: Arc::default() };
        let touched = proxy.touched.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (seen, touched) = (seen.clone(), touched.clone());
                tokio::spawn(async move {
                    if let Err(stream) = carry(stream, store, seen, touched).await {
                        // Reset and not closed, as by a network that has gone.
                        let _ = stream.set_zero_linger();
                    }
                });
            }
        });
        Ok(proxy)
    }

    pub(super) fn set(&self, weather: Weather) {
        self.weather.send_replace(weather);
    }

    /// How many pieces have met with some weather.
    pub(super) fn touched(&self) -> u64 {
        self.touched.load(Ordering::Relaxed)
    }
}

/// # Errors
/// Hands back a connection that is to be reset.
async fn carry(
    client: TcpStream,
    store: SocketAddr,
    weather: watch::Receiver<Weather>,
    touched: Arc<AtomicU64>,
) -> Result<(), TcpStream> {
    if *weather.borrow() == Weather::Cut {
        touched.fetch_add(1, Ordering::Relaxed);
        return Err(client);
    }
    let Ok(upstream) = TcpStream::connect(store).await else { return Err(client) };
    // Small pieces go at once, as they come.
    let (_, _) = (client.set_nodelay(true), upstream.set_nodelay(true));
    let (mut from_client, mut to_client) = client.into_split();
    let (mut from_store, mut to_store) = upstream.into_split();
    let there = pump(&mut from_client, &mut to_store, Way::There, weather.clone(), &touched);
    let back = pump(&mut from_store, &mut to_client, Way::Back, weather.clone(), &touched);
    // Both to their ends: what a client has sent gets there even if the client has gone.
    let (there, back) = tokio::join!(there, back);
    if there.is_ok() && back.is_ok() {
        return Ok(());
    }
    from_client.reunite(to_client).map_or(Ok(()), Err)
}

/// # Errors
/// The connection is to be reset.
async fn pump(
    from: &mut OwnedReadHalf,
    to: &mut OwnedWriteHalf,
    way: Way,
    mut weather: watch::Receiver<Weather>,
    touched: &AtomicU64,
) -> io::Result<()> {
    let reset = || io::Error::from(io::ErrorKind::ConnectionReset);
    let mut piece = vec![0; 16 * 1_024];
    let mut is_spoilt = false;
    loop {
        let read = tokio::select! {
            read = from.read(&mut piece) => read?,
            () = ended(&mut weather, is_spoilt) => return Err(reset()),
        };
        if read == 0 {
            return to.shutdown().await;
        }
        if *weather.borrow() != Weather::Clear {
            touched.fetch_add(1, Ordering::Relaxed);
        }
        loop {
            let now = *weather.borrow_and_update();
            match now {
                Weather::Cut => return Err(reset()),
                Weather::Stall { there, back } if if way == Way::There { there } else { back } => {
                    weather.changed().await.map_err(|_| reset())?;
                }
                Weather::Swallow if way == Way::Back => {
                    is_spoilt = true;
                    break;
                }
                Weather::Delay(delay) => {
                    tokio::time::sleep(delay).await;
                    break;
                }
                _ => break,
            }
        }
        if !is_spoilt {
            to.write_all(&piece[..read]).await?;
        }
    }
}

/// The network is cut; or an answer is missing, and the weather that took it is over.
async fn ended(weather: &mut watch::Receiver<Weather>, is_spoilt: bool) {
    let is_over = |weather: &Weather| *weather == Weather::Cut || (is_spoilt && *weather != Weather::Swallow);
    // An error is the end of the proxy.
    let _ = weather.wait_for(is_over).await;
}

//! The service's life, and an end to it that lets runs come to theirs.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::serve::ListenerExt;
use tako::Shutdown;
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::time::timeout;

use crate::app;
use crate::jobs::Gallery;

/// How long answers may take to be written once all jobs have ended.
const LAST_ANSWERS: Duration = Duration::from_secs(2);

/// Serves until `stop`; then accepts nothing new, tells the jobs to stop, and keeps their leases up until they have.
///
/// The order matters. Closing the connections first would wait for jobs that nobody has told; giving the leases back
/// first would let another instance start while this one still works.
///
/// # Errors
/// The listener has no address.
pub async fn serve(
    listener: TcpListener,
    gallery: Arc<Gallery>,
    stop: impl Future<Output = ()> + Send + 'static,
    grace: Duration,
) -> io::Result<Shutdown> {
    let engine = gallery.engine.clone();
    tracing::info!(address = %listener.local_addr()?, photos = %gallery.photos.display(), "serving");
    let listener = listener.tap_io(|connection| {
        // Answers are small and people wait for them. A connection that refuses the option serves all the same.
        let _ = connection.set_nodelay(true);
    });
    let (stopped, stopping) = oneshot::channel();
    let server = axum::serve(listener, app::router(gallery)).with_graceful_shutdown(async {
        stop.await;
        // Nobody listens any more only if this very function was dropped.
        let _ = stopped.send(());
    });
    let mut server = tokio::spawn(server.into_future());
    // An error means that the server has ended without being asked to, which leaves the same to do.
    let _ = stopping.await;
    let shutdown = engine.shutdown(grace).await;
    if timeout(LAST_ANSWERS, &mut server).await.is_err() {
        tracing::warn!("connections were still open; closing them");
        server.abort();
    }
    Ok(shutdown)
}

/// Ends when the process is told to: SIGTERM, as orchestrators send it, or ctrl-c.
///
/// # Errors
/// The process cannot listen to signals.
pub fn told_to_stop() -> io::Result<impl Future<Output = ()> + Send + 'static> {
    #[cfg(unix)]
    let mut terminate = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate())?;
    Ok(async move {
        #[cfg(unix)]
        let terminated = terminate.recv();
        #[cfg(not(unix))]
        let terminated = std::future::pending::<()>();
        tokio::select! {
            _ = terminated => {}
            _ = tokio::signal::ctrl_c() => {}
        }
    })
}

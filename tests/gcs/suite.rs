//! The conformance suite over the cloud's lease, on whatever server there is.

use std::time::Duration;

use tako::backend::GcsLease;
use tako::conformance::Pace;
use tako_lock_tests::gcs_engine::{lease, real_lease};
use tako_lock_tests::gcs_server::{DOUBLE, Server};

/// The lease on the double, in a bucket that takes so many writes of one object a second.
fn on_double(bucket: &str, pace: Duration) -> GcsLease {
    DOUBLE.bucket(bucket).limit(pace);
    lease(&DOUBLE.endpoint(), bucket)
}

async fn on_emulator() -> Option<GcsLease> {
    let server = Server::emulator()?;
    server.make_bucket("tako-conformance").await;
    Some(lease(&server.endpoint(), "tako-conformance"))
}

mod double {
    tako::conformance::suite!(super::on_double("conformance", std::time::Duration::ZERO));
}

/// As the service limits its users, ten times as fast.
mod limited_double {
    use std::time::Duration;

    use super::Pace;

    const PACE: Pace = Pace { gap: Duration::from_millis(110), ..Pace::ONE_WRITE_A_SECOND };

    tako::conformance::suite!(super::on_double("limited", Duration::from_millis(100)), PACE);
}

mod emulator {
    tako::conformance::suite!(super::on_emulator().await);
}

/// `TAKO_TEST_BUCKET`, with the credentials of whoever runs this; see `GCS.md`.
mod real_bucket {
    use super::Pace;

    tako::conformance::suite!(super::real_lease(), Pace::ONE_WRITE_A_SECOND);
}

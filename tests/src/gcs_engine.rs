//! Engines over Google Cloud Storage, or what stands in for it, under a policy that a test can wait for.

use std::time::Duration;

use tako::backend::GcsLease;
use tako::policy::Policy;
use tako::{Engine, GcsConfig};

const fn millis(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

/// The policy of version 0 with most figures divided by seven or so: sound by the same rules, and with room for a
/// busy machine between any two events.
pub const SHORT: Policy = Policy {
    ttl: millis(4_500),
    heartbeat: millis(1_500),
    poll: millis(250),
    attempt: millis(500),
    margin: millis(200),
    guard: millis(300),
    pace: millis(150),
    retry: millis(30),
    release: millis(1_800),
    useful: millis(1_000),
};

const _: () = assert!(SHORT.is_sound(), "no test may run under a policy that promises nothing");

/// The lease of the app `gallery` in the environment `test`.
///
/// # Panics
/// When the endpoint or the bucket is none.
pub fn lease(endpoint: &str, bucket: &str) -> GcsLease {
    lease_in(bucket, Some(endpoint.into()))
}

/// The lease in the bucket that `TAKO_TEST_BUCKET` names, at the service itself unless `STORAGE_EMULATOR_HOST` points
/// elsewhere.
///
/// # Panics
/// When that is the name of no bucket.
pub fn real_lease() -> Option<GcsLease> {
    let bucket = std::env::var("TAKO_TEST_BUCKET").ok().filter(|bucket| !bucket.is_empty())?;
    Some(lease_in(&bucket, None))
}

fn lease_in(bucket: &str, emulator: Option<String>) -> GcsLease {
    let config = GcsConfig {
        project: "demo".into(),
        app: "gallery".into(),
        env: "test".into(),
        bucket: Some(bucket.into()),
        emulator,
        ..GcsConfig::default()
    };
    GcsLease::new(&config).expect("an endpoint and a bucket")
}

/// An engine over it with a thread of its own, as in production, whose connection stands.
///
/// # Panics
/// When it cannot be built, or the server does not answer.
pub async fn engine(endpoint: &str, bucket: &str, label: &str, policy: Policy) -> Engine {
    let builder = Engine::builder(lease(endpoint, bucket)).app("gallery").env("test").label(label);
    let engine = builder.under_policy(policy).build().expect("an engine");
    // Making the client takes long where many are made at once: none of it is to count in the test.
    for _ in 0..40 {
        if engine.inspect("warm-up").await.is_ok() {
            return engine;
        }
    }
    panic!("no answer from {endpoint}");
}

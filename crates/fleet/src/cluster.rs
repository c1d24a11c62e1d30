//! Queries on several machines: a scheduler and executors of Apache Ballista, which perk starts, and sessions that ask
//! them.
//!
//! A query is planned here, so that it reads whole pieces of a store only. The plan names the files; the scheduler cuts
//! it into stages, and executors run these. perk's functions travel as the store and the dates that they read.

mod address;
mod args;
mod codec;
mod executor;
mod fault;
mod health;
mod job;
mod plan;
mod process;
mod registry;
mod scheduler;
mod sessions;

pub(crate) use args::{ClusterArg, ExecutorArgs, SchedulerArgs};
pub(crate) use executor::executor;
pub(crate) use scheduler::scheduler;

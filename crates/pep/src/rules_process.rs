//! The process that changes the rules after the proxy has given up its privileges. The proxy forks
//! it at its start, sends it the rules once, and then a few orders. The forked process may change
//! network settings and run `nft` and `ip`. It reads no data from the network, and ends when the
//! proxy ends. If both processes are killed, the rules stay, but connections bypass the proxy
//! because no process listens.

use std::collections::BTreeSet;
use std::io;
use std::os::fd::AsRawFd as _;
use std::os::unix::net::UnixStream;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use headway_system::error::{Attempt as _, Failure};
use serde::{Deserialize, Serialize};

use crate::config::Config;
use crate::control;
use crate::handover::Offer;
use crate::listening;
use crate::privileges;
use crate::rules::Rules;
use crate::socket::Family;

/// How often to read the ports at which other programs listen.
const REFRESH: Duration = Duration::from_secs(2);

/// The task of the forked process, which it receives once.
#[derive(Debug, Serialize, Deserialize)]
struct Task {
    rules: Rules,
    /// If the proxy replaces another process: the nftables tables of that process, and the address
    /// families whose marked packets are already routed to this machine.
    instead_of: Option<(String, Vec<Family>)>,
    folder: PathBuf,
    name: String,
    /// Whether rules of this proxy may already be installed.
    is_installed: bool,
    /// Ports that the proxy cannot use as a client's port, because other programs listen at them.
    #[serde(skip)]
    busy: BTreeSet<u16>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Order {
    Install,
    Open,
    Close,
    Restore {
        open: bool,
    },
    Refresh,
    Count,
    /// Orders the forked process to remove the rules, the control socket and the lock file.
    Remove,
}

/// The result of an order to the forked process: a number, or an exit status and a message.
type Answer = Result<Option<u64>, (u8, String)>;

/// The proxy's end of the socket to the forked process that changes the rules.
#[derive(Debug)]
pub(crate) struct RulesClient {
    stream: UnixStream,
    pid: libc::pid_t,
    pub rules: Rules,
    refreshed: Instant,
}

/// The forked process that will change the rules, before it has received its task.
#[derive(Debug)]
pub(crate) struct RulesProcess(UnixStream, libc::pid_t);

/// Forks the process that will change the rules. The calling process must have a single thread.
pub(crate) fn fork() -> Result<RulesProcess, Failure> {
    let what = "fork a process";
    let (near, far) = UnixStream::pair().attempt(what)?;
    // SAFETY: this process has one thread, so no other thread's work is interrupted in the child.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()).attempt(what),
        0 => {
            drop(near);
            let ended = catch_unwind(AssertUnwindSafe(|| serve(&far)));
            // SAFETY: does not run any code of the parent process.
            unsafe { libc::_exit(i32::from(ended.is_err())) }
        }
        pid => Ok(RulesProcess(near, pid)),
    }
}

fn serve(stream: &UnixStream) {
    let own = stream.as_raw_fd() as libc::c_uint;
    // SAFETY: descriptors of the parent process, which this one does not use; plain numbers.
    unsafe {
        libc::close_range(3, own - 1, 0);
        libc::close_range(own + 1, libc::c_uint::MAX, 0);
        // ignore signals that end the proxy, because this process must end after the proxy
        for signal in [libc::SIGTERM, libc::SIGINT, libc::SIGHUP] {
            libc::signal(signal, libc::SIG_IGN);
        }
    }
    if privileges::keep_for_rules().is_err() {
        return;
    }
    let Ok(Some(mut task)) = control::read_line::<Task>(stream) else {
        return;
    };
    while let Ok(Some(order)) = control::read_line(stream) {
        let answer: Answer = task.execute(order).map_err(|f| (f.exit_status, f.message));
        if control::write_line(stream, &answer).is_err() {
            return;
        }
    }
}

impl Task {
    fn execute(&mut self, order: Order) -> Result<Option<u64>, Failure> {
        // if the kernel returns an error, assume that no ports are in use
        let busy = || listening::any_address_ports().unwrap_or_default();
        let rules = &self.rules;
        let done = match (order, &self.instead_of) {
            (Order::Install, None) => {
                rules.free()?;
                self.is_installed = true;
                self.busy = busy();
                rules.install(&self.busy)
            }
            (Order::Install, Some((table, families))) => {
                self.busy = busy();
                rules.take_over(table, families, &self.busy)
            }
            (Order::Open, _) => rules.open(),
            (Order::Close, _) => rules.close(),
            (Order::Restore { open }, _) => rules.restore(open, &self.busy),
            (Order::Refresh, _) => {
                let now = busy();
                if now == self.busy {
                    return Ok(None);
                }
                rules.fill(&now).map(|()| self.busy = now)
            }
            (Order::Count, _) => return Ok(rules.bypassed()),
            (Order::Remove, _) => {
                // remove nothing if nothing was installed, because rules with this mark may belong
                // to another proxy
                if self.is_installed {
                    rules.remove()?;
                }
                control::remove_files(&self.folder, &self.name);
                Ok(())
            }
        };
        done.map(|()| None)
    }
}

impl RulesProcess {
    /// Sends the task.
    pub fn begin(
        self,
        rules: Rules,
        config: &Config,
        offer: Option<&Offer>,
    ) -> Result<RulesClient, Failure> {
        let families = |offer: &Offer| offer.ports.iter().map(|(family, _)| *family).collect();
        let task = Task {
            rules,
            instead_of: offer.map(|offer| (offer.table.clone(), families(offer))),
            folder: config.folder.clone(),
            name: config.name.clone(),
            is_installed: offer.is_some(),
            busy: BTreeSet::new(),
        };
        let Self(stream, pid) = self;
        control::write_line(&stream, &task).attempt("send the rules to their process")?;
        let rules = task.rules;
        Ok(RulesClient {
            stream,
            pid,
            rules,
            refreshed: Instant::now(),
        })
    }
}

impl RulesClient {
    fn order(&self, order: Order) -> Result<Option<u64>, Failure> {
        let what = "reach the process that changes the rules";
        control::write_line(&self.stream, &order).attempt(what)?;
        match control::read_line::<Answer>(&self.stream).attempt(what)? {
            Some(answer) => answer.map_err(|(exit_status, message)| Failure {
                message,
                exit_status,
            }),
            None => Err(Failure::failed(format!(
                "cannot {what}: the process that changes the rules has ended"
            ))),
        }
    }

    /// Installs the rules, or replaces those of the process that this proxy replaces.
    pub fn install(&self) -> Result<(), Failure> {
        self.order(Order::Install).map(drop)
    }

    pub fn open(&self) -> Result<(), Failure> {
        self.order(Order::Open).map(drop)
    }

    pub fn close(&self) -> Result<(), Failure> {
        self.order(Order::Close).map(drop)
    }

    pub fn restore(&self, open: bool) -> Result<(), Failure> {
        self.order(Order::Restore { open }).map(drop)
    }

    /// Updates, at most every two seconds, the ports at which other programs listen. If an update
    /// fails, the next update tries again.
    pub fn refresh(&mut self) {
        if self.refreshed.elapsed() >= REFRESH {
            self.refreshed = Instant::now();
            let _ = self.order(Order::Refresh);
        }
    }

    pub fn bypassed(&self) -> Option<u64> {
        self.order(Order::Count).ok().flatten()
    }

    /// Removes the rules, and only after that the control socket. So if some rules are left, `pep
    /// stop` still finds the proxy.
    pub fn remove(&self) -> Result<(), Failure> {
        self.order(Order::Remove).map(drop)
    }
}

impl Drop for RulesClient {
    fn drop(&mut self) {
        let _ = self.stream.shutdown(std::net::Shutdown::Both);
        // SAFETY: a child of this process, which ends when the stream is closed.
        unsafe { libc::waitpid(self.pid, std::ptr::null_mut(), 0) };
    }
}

//! How a proxy process (the successor) replaces another one of the same name (the predecessor)
//! without disturbing any connection:
//!
//! 1. The successor sends `hand-over`. It receives a description of the proxy, with the lock, the
//!    control socket and the listening sockets. The predecessor continues as before.
//! 2. The successor prepares everything that could fail, and changes the rules if necessary. If it
//!    ends before the next step, the predecessor restores its rules.
//! 3. The successor sends `let-go`. The predecessor takes no more connections and hands over
//!    clients that are held until servers answer (`--confirm`). Connections in the queues of the
//!    listening sockets wait for the successor. If no further message follows, the predecessor
//!    accepts them again.
//! 4. The successor sends `entered`. The predecessor keeps its connections, but no longer changes
//!    rules, socket and lock. From then on the successor sends requests to the predecessor through
//!    the same stream, which ends when the predecessor ends.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, IoSlice, IoSliceMut, Read as _, Write as _};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::time::{Duration, Instant};

use headway_system::error::{Attempt as _, Failure};
use rustix::event::{poll, PollFd, PollFlags, Timespec};
use rustix::io::retry_on_intr;
use rustix::net::{
    recvmsg, sendmsg, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags,
};
use serde::{Deserialize, Serialize};

use crate::control::{self, Control, Place, Request, Status};
use crate::pending::Waiting;
use crate::socket::Family;
use crate::syn::Syn;
use crate::Config;

/// Version of the handover protocol. A later version of the program also understands this version
/// of the protocol, or refuses it with a message.
pub(crate) const VERSION: u32 = 2;
/// Largest allowed size in bytes of the description of all held clients. It is more than any
/// allowed number of held clients needs.
const MOST_BYTES: usize = 1 << 28;
/// Maximum number of file descriptors in one message (SCM_MAX_FD).
const AT_ONCE: usize = 253;
/// How long to wait for a predecessor's status. A predecessor that does not answer in time is left
/// out.
const PATIENCE: Duration = Duration::from_secs(2);

/// The predecessor's description of the proxy. The predecessor sends file descriptors with it, in
/// this order: the lock, the control socket, the listeners of each address family, the streams to
/// earlier predecessors.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Offer {
    pub version: u32,
    pub place: Place,
    pub ports: Vec<(Family, u16)>,
    /// The number of listening sockets of each address family.
    pub listeners: Vec<usize>,
    pub predecessors: usize,
    /// Network devices of the connections that the predecessors keep.
    pub devices: Vec<String>,
    /// The text of the nftables tables as the predecessor installed them.
    pub table: String,
    /// Whether the proxy holds clients until servers answer (--confirm).
    pub confirm: bool,
}

/// A held client in a handover. The predecessor sends it together with the socket to the client's
/// server.
#[derive(Debug, Serialize, Deserialize)]
struct HeldClient {
    /// The SYN packet of the client.
    syn: Vec<u8>,
    waited_us: u64,
    answered: bool,
}

/// The message after the answer to `let-go`: the size in bytes of the list of `HeldClient`, and the
/// number of their sockets.
#[derive(Debug, Serialize, Deserialize)]
struct HeldClientsHeader {
    bytes: usize,
    sockets: usize,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Answer {
    Offer(Offer),
    Refused(String),
}

/// Sends the description of the proxy, with its descriptors, to the successor.
pub(crate) fn offer(stream: &UnixStream, offer: Offer, all: &[BorrowedFd<'_>]) -> io::Result<()> {
    control::write_line(stream, &Answer::Offer(offer))?;
    send(stream, all)
}

fn send(stream: &UnixStream, all: &[BorrowedFd<'_>]) -> io::Result<()> {
    for some in all.chunks(AT_ONCE) {
        let mut space = vec![MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(AT_ONCE))];
        let mut message = SendAncillaryBuffer::new(&mut space);
        message.push(SendAncillaryMessage::ScmRights(some));
        let byte = [IoSlice::new(b".")];
        // Set no timeout on the stream. With a timeout, a call returns EINTR when the process is
        // stopped and continued.
        retry_on_intr(|| sendmsg(stream, &byte, &mut message, SendFlags::NOSIGNAL))?;
    }
    Ok(())
}

/// Sends the reason why this proxy refuses a handover. Ignores errors, because the successor may
/// have ended.
pub(crate) fn refuse(stream: &UnixStream, why: &str) {
    let _ = control::write_line(stream, &Answer::Refused(why.to_owned()));
}

fn receive(stream: &UnixStream, number: usize) -> io::Result<Vec<OwnedFd>> {
    let mut all = Vec::new();
    while all.len() < number {
        let mut space = vec![MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(AT_ONCE))];
        let mut message = RecvAncillaryBuffer::new(&mut space);
        let mut byte = [0];
        let got = retry_on_intr(|| {
            let into = &mut [IoSliceMut::new(&mut byte)];
            recvmsg(stream, into, &mut message, RecvFlags::CMSG_CLOEXEC)
        })?;
        let before = all.len();
        for part in message.drain() {
            if let RecvAncillaryMessage::ScmRights(some) = part {
                all.extend(some);
            }
        }
        if got.bytes == 0 || all.len() == before {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
    Ok(all)
}

/// Sends the held clients to the successor, after the answer to `let-go`.
pub(crate) fn hand_over(mut stream: &UnixStream, all: &[Waiting]) -> io::Result<()> {
    let describe = |waiting: &Waiting| HeldClient {
        syn: waiting.syn.packet().to_vec(),
        waited_us: waiting.since.elapsed().as_micros() as u64,
        answered: waiting.answered,
    };
    let text = serde_json::to_vec(&all.iter().map(describe).collect::<Vec<_>>())?;
    let (bytes, sockets) = (text.len(), all.len());
    control::write_line(stream, &HeldClientsHeader { bytes, sockets })?;
    stream.write_all(&text)?;
    let sockets: Vec<BorrowedFd<'_>> = all.iter().map(|waiting| waiting.socket.as_fd()).collect();
    send(stream, &sockets)
}

fn take_over(mut stream: &UnixStream) -> io::Result<Vec<Waiting>> {
    let heading: Option<HeldClientsHeader> = control::read_line(stream)?;
    let Some(HeldClientsHeader { bytes, sockets }) =
        heading.filter(|heading| heading.bytes <= MOST_BYTES)
    else {
        return Err(io::ErrorKind::InvalidData.into());
    };
    let mut text = vec![0; bytes];
    stream.read_exact(&mut text)?;
    let clients: Vec<HeldClient> = serde_json::from_slice(&text)?;
    if clients.len() != sockets {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let now = Instant::now();
    let all = clients.into_iter().zip(receive(stream, sockets)?);
    let held = all.filter_map(|(client, socket)| {
        let waited = Duration::from_micros(client.waited_us);
        Some(Waiting {
            syn: Syn::parse(&client.syn)?,
            socket,
            since: now.checked_sub(waited).unwrap_or(now),
            answered: client.answered,
        })
    });
    Ok(held.collect())
}

/// The resources that a predecessor has sent to this process. The predecessor continues to take
/// connections until `let-go`.
#[derive(Debug)]
pub(crate) struct Inherited {
    pub offer: Offer,
    lock: File,
    control: UnixListener,
    /// The listening sockets of each address family, in the order of the predecessor's description.
    listeners: Vec<Vec<OwnedFd>>,
    predecessors: Vec<Predecessor>,
    from: UnixStream,
}

/// Requests a handover from the running proxy of this name. None: no proxy has this name.
pub(crate) fn ask(
    folder: &Path,
    name: &str,
    place: Place,
    confirm: bool,
) -> Result<Option<Inherited>, Failure> {
    let what = format!("replace proxy {name}");
    let Some(from) = control::connect(folder, name).attempt(&what)? else {
        return Ok(None);
    };
    let version = VERSION;
    control::write_line(&from, &Request::HandOver { version }).attempt(&what)?;
    let other = |why: &str| {
        Failure::failed(format!(
            "cannot {what}: {why}; `headwayctl pep stop {name}` ends it"
        ))
    };
    let offer = match control::read_line(&from).attempt(&what)? {
        Some(Answer::Offer(offer)) => offer,
        Some(Answer::Refused(why)) => return Err(other(&why)),
        None => {
            return Err(other(
                "the running proxy's version does not support a handover",
            ))
        }
    };
    if offer.version != version {
        let why = format!(
            "it uses version {} of the handover protocol, not {version}",
            offer.version
        );
        return Err(other(&why));
    }
    if offer.place.netns != place.netns {
        return Err(other("the running proxy is in another network namespace"));
    }
    if offer.place.mark != place.mark {
        return Err(Failure::bad_input(format!(
            "mark {}: must be {}, the mark of the running proxy, because its connections need it",
            place.mark, offer.place.mark
        )));
    }
    if offer.confirm && !confirm {
        return Err(Failure::bad_input(
            "confirm: the running proxy holds clients until their servers answer, \
             and its successor must do so as well",
        ));
    }
    let number = 2 + offer.listeners.iter().sum::<usize>() + offer.predecessors;
    let mut all = receive(&from, number).attempt(&what)?.into_iter();
    let mut take = |n: usize| -> Vec<OwnedFd> { all.by_ref().take(n).collect() };
    let [lock, control] = <[OwnedFd; 2]>::try_from(take(2)).map_err(|_| other("it has ended"))?;
    let listeners = offer.listeners.iter().map(|&n| take(n)).collect();
    let predecessors = take(offer.predecessors).into_iter().map(UnixStream::from);
    Ok(Some(Inherited {
        lock: lock.into(),
        control: control.into(),
        listeners,
        predecessors: predecessors.map(Predecessor::new).collect(),
        from,
        offer,
    }))
}

impl Inherited {
    /// Returns the proxy's control socket and lock. The predecessor owns the files of both until
    /// `let-go`.
    pub fn control(&self, config: &Config) -> Result<Control, Failure> {
        let copies = self.control.try_clone().and_then(|control| {
            let lock = self.lock.try_clone()?;
            Control::of(&config.folder, &config.name, control, lock)
        });
        copies.attempt("keep a control socket")
    }

    /// Returns the listening sockets of each address family.
    pub fn listeners(&self) -> impl Iterator<Item = (Family, &[OwnedFd])> {
        let families = self.offer.ports.iter().map(|(family, _)| *family);
        families.zip(self.listeners.iter().map(Vec::as_slice))
    }

    /// Makes the predecessor stop taking connections (`let-go`). From then on this process takes
    /// connections. Returns all predecessors and the held clients.
    pub fn take_over(self) -> Result<(Vec<Predecessor>, Vec<Waiting>), Failure> {
        let what = "replace a proxy";
        let mut all = self.predecessors;
        control::write_line(&self.from, &Request::LetGo).attempt(what)?;
        // read byte by byte, because reading ahead would lose the sockets that are sent with the
        // next bytes
        let status: Option<Status> = control::read_line(&self.from).attempt(what)?;
        if status.is_none() {
            return Err(Failure::failed(format!(
                "cannot {what}: the running proxy has ended"
            )));
        }
        let held = take_over(&self.from).attempt(what)?;
        control::write_line(&self.from, &Request::Entered).attempt(what)?;
        all.push(Predecessor::new(self.from));
        Ok((all, held))
    }
}

/// A process that was replaced and still has connections.
#[derive(Debug)]
pub(crate) struct Predecessor {
    from: BufReader<UnixStream>,
    /// Whether the predecessor once did not answer in time. Then later answers would not match the
    /// requests, so no more answers are read.
    mute: bool,
}

impl Predecessor {
    fn new(stream: UnixStream) -> Self {
        // set a timeout, because a hanging predecessor would block this process
        let _ = stream.set_read_timeout(Some(PATIENCE));
        let _ = stream.set_write_timeout(Some(PATIENCE));
        Self {
            from: BufReader::new(stream),
            mute: false,
        }
    }

    pub fn stream(&self) -> BorrowedFd<'_> {
        self.from.get_ref().as_fd()
    }

    pub fn ask(&mut self, request: Request) -> io::Result<Status> {
        control::write_line(self.from.get_ref(), &request)?;
        if self.mute {
            return Err(io::ErrorKind::TimedOut.into());
        }
        let mut line = String::new();
        let answer = self.from.read_line(&mut line).map(drop);
        let answer = answer.and_then(|()| Ok(serde_json::from_str(&line)?));
        self.mute = answer.is_err();
        answer
    }

    /// Whether the predecessor's process has ended, even if answers of it are still unread.
    pub fn has_ended(&self) -> bool {
        let now = Timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        let mut fds = [PollFd::from_borrowed_fd(self.stream(), PollFlags::RDHUP)];
        matches!(poll(&mut fds, Some(&now)), Ok(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::thread;

    fn some_offer(version: u32) -> Offer {
        Offer {
            version,
            place: Place {
                mark: 300,
                netns: (1, 2),
            },
            ports: vec![(Family::V4, 1), (Family::V6, 2)],
            listeners: vec![300, 100],
            predecessors: 1,
            devices: Vec::new(),
            table: String::new(),
            confirm: false,
        }
    }

    /// Runs a handover for a test in which the proxy answers with `answer`. Returns what the
    /// successor gets.
    fn taken(answer: impl FnOnce(&UnixStream) + Send) -> Result<Option<Inherited>, Failure> {
        let folder = std::env::temp_dir().join(format!(
            "headway-over-{}-{:?}",
            std::process::id(),
            thread::current().id()
        ));
        fs::create_dir_all(&folder).unwrap();
        let listener = UnixListener::bind(folder.join("pep.sock")).unwrap();
        let result = thread::scope(|scope| {
            scope.spawn(|| {
                let (stream, _) = listener.accept().unwrap();
                let asked = control::read_line(&stream).unwrap();
                assert!(matches!(
                    asked,
                    Some(Request::HandOver { version: VERSION })
                ));
                answer(&stream);
            });
            ask(&folder, "pep", some_offer(0).place, false)
        });
        fs::remove_dir_all(&folder).unwrap();
        result
    }

    #[test]
    fn more_descriptors_than_fit_in_a_message_arrive_in_order() {
        let inherited = taken(|stream| {
            let files: Vec<File> = (0..403).map(|_| File::open("/dev/null").unwrap()).collect();
            let all: Vec<BorrowedFd<'_>> = files.iter().map(|file| file.as_fd()).collect();
            offer(stream, some_offer(VERSION), &all).unwrap();
        });
        let inherited = inherited.unwrap().unwrap();
        let numbers: Vec<usize> = inherited.listeners.iter().map(Vec::len).collect();
        assert_eq!((numbers, inherited.predecessors.len()), (vec![300, 100], 1));
    }

    #[test]
    fn another_version_is_refused_in_a_line_with_the_remedy() {
        for (answer, why) in [
            (
                Box::new(|_: &UnixStream| ()) as Box<dyn FnOnce(&UnixStream) + Send>,
                "the running proxy's version does not support a handover",
            ),
            (
                Box::new(|s: &UnixStream| offer(s, some_offer(VERSION + 1), &[]).unwrap()),
                "version 3 of the handover protocol, not 2",
            ),
            (Box::new(|s: &UnixStream| refuse(s, "it stops")), "it stops"),
        ] {
            let line = taken(answer).unwrap_err().message;
            assert!(
                line.contains(why) && line.contains("pep stop pep"),
                "{line}"
            );
        }
    }

    #[test]
    fn a_different_mark_and_a_successor_without_confirm_are_refused() {
        let (mut marked, mut confirms) = (some_offer(VERSION), some_offer(VERSION));
        marked.place.mark = 400;
        confirms.confirm = true;
        for (other, words) in [(marked, "mark 300: "), (confirms, "confirm: ")] {
            let refused = taken(|stream| offer(stream, other, &[]).unwrap()).unwrap_err();
            assert!(refused.message.starts_with(words), "{refused}");
            assert_eq!(refused.exit_status, headway_system::error::BAD_INPUT);
        }
    }

    #[test]
    fn held_clients_arrive_with_the_sockets_to_their_servers() {
        let (near, far) = UnixStream::pair().unwrap();
        let now = Instant::now();
        let held: Vec<Waiting> = (0..700)
            .map(|n| Waiting {
                syn: Syn::example(1000 + n),
                socket: File::open("/dev/null").unwrap().into(),
                since: now - Duration::from_millis(n.into()),
                answered: n % 2 == 1,
            })
            .collect();
        let begin = Instant::now();
        let taken = thread::scope(|scope| {
            let successor = scope.spawn(|| take_over(&far));
            hand_over(&near, &held).unwrap();
            successor.join().unwrap().unwrap()
        });
        // the time that a client has waited is transferred in whole microseconds, and the time of
        // the transfer is not added
        let most_lost = begin.elapsed() + Duration::from_micros(1);
        assert_eq!(taken.len(), held.len());
        for (theirs, ours) in taken.iter().zip(&held) {
            assert_eq!(theirs.ends(), ours.ends());
            assert_eq!(theirs.syn.packet(), ours.syn.packet());
            assert_eq!(theirs.answered, ours.answered);
            assert!((ours.since..=ours.since + most_lost).contains(&theirs.since));
        }
        hand_over(&near, &[]).unwrap();
        assert!(take_over(&far).unwrap().is_empty());
    }
}

//! A process replaces another of the same name without disturbing any connection:
//!
//! 1. The successor sends `hand-over`. It receives a description of the proxy, with the lock, the
//!    control socket and the listening sockets. The predecessor continues as before.
//! 2. The successor prepares everything that could fail, and changes the rules if necessary. If it
//!    ends now, the predecessor restores its rules.
//! 3. The successor sends `let-go`. The predecessor takes no more connections and hands over
//!    clients that are held until servers answer (`--confirm`). Connections in the queues of the
//!    listening sockets wait for the successor, or for the predecessor again if no further message
//!    follows.
//! 4. The successor sends `entered`. The predecessor keeps its connections, and leaves rules,
//!    socket and lock alone.
//!
//! From then on the successor sends requests to the predecessor through the same stream. The stream
//! ends when the predecessor does.

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

/// Version of the handover protocol. A later version also understands this one, or refuses it with
/// a message.
pub(crate) const VERSION: u32 = 2;
/// Longest description of held clients: more than are held at a time.
const MOST_BYTES: usize = 1 << 28;
/// Descriptors in one message (SCM_MAX_FD).
const AT_ONCE: usize = 253;
/// A predecessor that does not answer for this long is left out of the status.
const PATIENCE: Duration = Duration::from_secs(2);

/// The description of the proxy. The descriptors follow in this order: the lock, the control
/// socket, listeners of each family, streams to predecessors.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Offer {
    pub version: u32,
    pub place: Place,
    pub ports: Vec<(Family, u16)>,
    /// The number of listeners of each family.
    pub listeners: Vec<usize>,
    pub predecessors: usize,
    /// Devices of the connections that continue.
    pub devices: Vec<String>,
    /// The nftables table as it was installed.
    pub table: String,
    /// Whether clients are held until servers answer.
    pub confirm: bool,
}

/// A held client, sent together with the socket to its server.
#[derive(Debug, Serialize, Deserialize)]
struct HeldClient {
    /// The client's SYN.
    syn: Vec<u8>,
    waited_us: u64,
    answered: bool,
}

/// Follows the answer to `let-go`: the bytes of all `HeldClient`, then the number of sockets.
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

/// Sends the description of the proxy to the successor.
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
        // a socket with a timeout is interrupted when the process stops and continues
        retry_on_intr(|| sendmsg(stream, &byte, &mut message, SendFlags::NOSIGNAL))?;
    }
    Ok(())
}

/// Refuses a handover with a reason. Ignores a successor that has ended.
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

/// Hands over held clients, after the answer to `let-go`.
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

/// The resources handed over, by a process that continues until `let-go`.
#[derive(Debug)]
pub(crate) struct Inherited {
    pub offer: Offer,
    lock: File,
    control: UnixListener,
    /// The listeners of each family in the offer.
    listeners: Vec<Vec<OwnedFd>>,
    predecessors: Vec<Predecessor>,
    from: UnixStream,
}

/// Asks the proxy of that name for a handover. None: no proxy has this name.
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
        None => return Err(other("its version does not support a handover")),
    };
    if offer.version != version {
        let why = format!(
            "it uses version {} of the handover protocol, not {version}",
            offer.version
        );
        return Err(other(&why));
    }
    if offer.place.netns != place.netns {
        return Err(other("it is in another network namespace"));
    }
    if offer.place.mark != place.mark {
        return Err(Failure::bad_input(format!(
            "mark {}: the running proxy has {}, which its connections need",
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
    /// The proxy's end of the control socket. The predecessor owns its files until it lets go.
    pub fn control(&self, config: &Config) -> Result<Control, Failure> {
        let copies = self.control.try_clone().and_then(|control| {
            let lock = self.lock.try_clone()?;
            Control::of(&config.folder, &config.name, control, lock)
        });
        copies.attempt("keep a control socket")
    }

    /// The listeners of each family.
    pub fn listeners(&self) -> impl Iterator<Item = (Family, &[OwnedFd])> {
        let families = self.offer.ports.iter().map(|(family, _)| *family);
        families.zip(self.listeners.iter().map(Vec::as_slice))
    }

    /// From here on this process takes connections. Returns the predecessors, and the held clients.
    pub fn take_over(self) -> Result<(Vec<Predecessor>, Vec<Waiting>), Failure> {
        let what = "replace a proxy";
        let mut all = self.predecessors;
        control::write_line(&self.from, &Request::LetGo).attempt(what)?;
        // read byte by byte: reading ahead would lose the sockets that accompany the next bytes
        let status: Option<Status> = control::read_line(&self.from).attempt(what)?;
        if status.is_none() {
            return Err(Failure::failed(format!("cannot {what}: it has ended")));
        }
        let held = take_over(&self.from).attempt(what)?;
        control::write_line(&self.from, &Request::Entered).attempt(what)?;
        all.push(Predecessor::new(self.from));
        Ok((all, held))
    }
}

/// A replaced process that still has connections.
#[derive(Debug)]
pub(crate) struct Predecessor {
    from: BufReader<UnixStream>,
    /// The predecessor did not answer in time, so later answers no longer match the requests.
    mute: bool,
}

impl Predecessor {
    fn new(stream: UnixStream) -> Self {
        // without a timeout, a hanging process would block this one
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

    /// Whether the predecessor has ended, even if unread answers are left.
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

    /// What a successor receives from a proxy that answers like this.
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
                "its version does not support a handover",
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
        // the waiting time is in whole microseconds, and does not advance during the transfer
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

//! Creates a testbed.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{SystemTime, UNIX_EPOCH};

use super::control::{self, Chosen};
use super::names::GATEWAY;
use super::process::Process;
use super::state::{self, HostState, Phase, State};
use super::{daemon, down, gateway, offloads, own, Spec};
use crate::error::{Attempt as _, Failure};
use crate::objects::pair_of;
use crate::system::lock::Lock;
use crate::system::netns::{self, Netns};
use crate::system::rundir;

/// Length in packets of the queue in which a host's TUN device keeps packets for the emulator. The
/// queue is long enough for bursts, because a packet lost there would not be lost by the emulated
/// path.
const DEVICE_QUEUE_PKTS: u32 = 20_000;
const CONTROL: &str = "net.ipv4.tcp_congestion_control";

/// Returns descriptions of the steps of `testbed up`, for a dry run.
///
/// # Errors
/// The control cannot be attached.
pub fn plan(spec: &Spec) -> Result<Vec<String>, Failure> {
    let mut steps = vec![];
    let chosen = Choices::of(spec)?;
    for request in chosen.all().filter_map(|chosen| chosen.attach.as_ref()) {
        let outcome = request.plan()?;
        let pair = pair_of(outcome.control, outcome.startup);
        steps.push(format!("attach {} ({pair})", outcome.name));
    }
    for host in spec.hosts() {
        steps.push(format!("add network namespace {}", host.namespace));
        for (name, value) in &spec.sysctls {
            steps.push(format!("set {name} = {value} in {}", host.namespace));
        }
        steps.push(format!(
            "set {CONTROL} = {} in {}",
            chosen.name_for(&host),
            host.namespace
        ));
        steps.push(format!(
            "add TUN device {} in {}",
            host.device, host.namespace
        ));
        steps.extend(
            configuration(spec, &host)
                .iter()
                .map(|line| format!("run ip -n {} {line}", host.namespace)),
        );
    }
    steps.push("start the emulator in the background".into());
    if let Some(folder) = &spec.log {
        steps.push(format!("log every packet to {}", folder.display()));
    }
    Ok(steps)
}

/// Arguments for the `ip` commands that configure the device of a host.
pub(super) fn configuration(spec: &Spec, host: &HostState) -> Vec<String> {
    let mtu_bytes = spec.config.mtu_bytes;
    if host.name == GATEWAY {
        return gateway::configuration(mtu_bytes, DEVICE_QUEUE_PKTS);
    }
    let other_side = if host.name.starts_with("left") {
        78
    } else {
        77
    };
    let HostState {
        address, device, ..
    } = host;
    let mut lines = vec![
        "link set lo up".into(),
        format!("link set {device} mtu {mtu_bytes} txqueuelen {DEVICE_QUEUE_PKTS}"),
        format!("addr add {address}/32 dev {device}"),
        format!("link set {device} up"),
        format!("route add 10.{other_side}.0.0/16 dev {device} src {address}"),
    ];
    if spec.ground.is_some() {
        lines.push(gateway::route(host));
    }
    lines
}

/// The congestion control of the hosts, and that of the gateway if it differs.
struct Choices {
    hosts: Chosen,
    gateway: Option<Chosen>,
}

impl Choices {
    fn of(spec: &Spec) -> Result<Self, Failure> {
        let gateway = spec.gateway_control.as_deref();
        Ok(Self {
            hosts: control::choose(&spec.control)?,
            gateway: gateway.map(control::choose).transpose()?,
        })
    }

    fn all(&self) -> impl Iterator<Item = &Chosen> {
        [&self.hosts].into_iter().chain(&self.gateway)
    }

    fn name_for(&self, host: &HostState) -> &str {
        match &self.gateway {
            Some(chosen) if host.name == GATEWAY => &chosen.name,
            _ => &self.hosts.name,
        }
    }
}

/// Creates a testbed. If a step fails, everything that was created before is removed.
///
/// # Errors
/// The name is taken, a privilege or program is missing, or the control is unknown.
pub fn up(spec: &Spec) -> Result<State, Failure> {
    check_machine()?;
    let lock = state::lock()?;
    let name = &spec.name;
    if state::names().contains(name) {
        return Err(Failure::bad_input(format!(
            "there is a testbed {name} already; `headwayctl testbed down {name}` removes it"
        )));
    }
    let taken = spec.hosts().into_iter().map(|host| host.namespace);
    let taken = taken
        .filter(|name| fs::symlink_metadata(Path::new(netns::NAMED_FOLDER).join(name)).is_ok());
    if let Some(namespace) = taken.into_iter().next() {
        return Err(Failure::bad_input(format!(
            "testbed {name}: a network namespace {namespace} exists already and is not \
             this testbed's; choose another --name"
        )));
    }
    let chosen = Choices::of(spec)?;
    let mut state = State {
        version: 1,
        name: name.clone(),
        phase: Phase::Starting,
        created_unix_ns: SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .map_or(0, |d| d.as_nanos() as u64),
        preset: spec.preset.clone(),
        control: chosen.hosts.name.clone(),
        gateway_control: chosen.gateway.as_ref().map(|chosen| chosen.name.clone()),
        emulator: None,
        hosts: spec.hosts(),
        config: spec.config.clone(),
        ground: spec.ground.clone(),
        sysctls: spec.sysctls.clone(),
        log: spec.log.clone(),
        allowed_control: None,
        attached_control: None,
        attached_gateway_control: None,
    };
    match make(&lock, spec, &chosen, &mut state) {
        Ok(()) => Ok(state),
        Err(error) => {
            // ignore an error of the removal, because the first error is more informative
            let _ = down::remove(&lock, name, false);
            Err(error)
        }
    }
}

fn check_machine() -> Result<(), Failure> {
    // SAFETY: no arguments; cannot fail.
    if unsafe { libc::geteuid() } != 0 {
        return Err(Failure::kernel_cannot("a testbed needs root"));
    }
    if !Path::new("/dev/net/tun").exists() {
        return Err(Failure::kernel_cannot(
            "a testbed needs TUN devices; /dev/net/tun is missing (modprobe tun)",
        ));
    }
    Command::new("ip")
        .arg("-V")
        .output()
        .map(drop)
        .map_err(|_| Failure::kernel_cannot("a testbed needs `ip`; install iproute2"))
}

fn make(lock: &Lock, spec: &Spec, chosen: &Choices, state: &mut State) -> Result<(), Failure> {
    state.save()?;
    if let Some(folder) = &spec.log {
        let what = format!("write to {}", folder.display());
        fs::create_dir_all(folder).attempt(&what)?;
        let columns = headway_emulator::columns();
        state::write_whole(&folder.join("columns.json"), &columns).attempt(&what)?;
    }
    for host in &state.hosts {
        own::add(&spec.name, &host.namespace)?;
    }
    for host in &state.hosts {
        let netns = Netns::find(&host.namespace)?;
        set_sysctls(spec, &netns)?;
        if host.name == GATEWAY {
            gateway::forward(&netns)?;
        }
    }
    attach(&chosen.hosts, state, |state| &mut state.attached_control)?;
    if let Some(chosen) = &chosen.gateway {
        attach(chosen, state, |state| &mut state.attached_gateway_control)?;
    }
    set_control(state)?;
    let mut emulator = start_emulator(lock, state)?;
    for host in &state.hosts {
        let lines = configuration(spec, host).join("\n");
        ip(lock, &["-n", &host.namespace, "-batch", "-"], &lines)?;
    }
    for host in &mut state.hosts {
        let what = format!("read the offloads of {}", host.device);
        let netns = Netns::find(&host.namespace)?;
        host.offloads = netns.inside(|| offloads::of(&host.device)).attempt(what)?;
    }
    state.phase = Phase::Up;
    state.save()?;
    // Tells the emulator that `testbed up` has completed. From then on the emulator outlives this
    // process.
    let commit = emulator
        .stdin
        .take()
        .map(|mut s| s.write_all(&[daemon::COMMIT]));
    commit
        .unwrap_or_else(|| Err(io::Error::other("no pipe")))
        .attempt("send a message to the emulator")
}

/// Makes a child process inherit the descriptor of the lock.
fn with_lock(program: &mut Command, lock: &Lock) {
    let fd = lock.fd();
    // SAFETY: fcntl may be called between fork and exec.
    unsafe {
        program.pre_exec(move || {
            if libc::fcntl(fd, libc::F_SETFD, 0) < 0 {
                return Err(io::Error::last_os_error());
            }
            Ok(())
        });
    }
}

fn ip(lock: &Lock, arguments: &[&str], input: &str) -> Result<(), Failure> {
    let what = format!("run ip {}", arguments.join(" "));
    let mut command = Command::new("ip");
    command
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    with_lock(&mut command, lock);
    let mut child = command.spawn().attempt(&what)?;
    if let Some(mut stdin) = child.stdin.take() {
        stdin.write_all(input.as_bytes()).attempt(&what)?;
    }
    let output = child.wait_with_output().attempt(&what)?;
    if output.status.success() {
        return Ok(());
    }
    let text = String::from_utf8_lossy(&output.stderr);
    let message = format!("cannot {what}: {}", text.trim());
    if text.contains("not permitted") {
        Err(Failure::kernel_cannot(message))
    } else {
        Err(Failure::failed(message))
    }
}

fn sysctl_path(name: &str) -> String {
    format!("/proc/sys/{}", name.replace('.', "/"))
}

pub(super) fn set_sysctls(spec: &Spec, netns: &Netns) -> Result<(), Failure> {
    for (name, value) in &spec.sysctls {
        let path = sysctl_path(name);
        match netns.inside(|| fs::write(&path, value)) {
            // a kernel without IPv6 has no setting to disable it
            Err(e) if e.kind() == io::ErrorKind::NotFound && name.starts_with("net.ipv6.") => {}
            Err(e) if e.kind() == io::ErrorKind::NotFound => {
                return Err(Failure::bad_input(format!(
                    "this kernel has no sysctl {name}"
                )));
            }
            Err(e) if e.kind() == io::ErrorKind::InvalidInput => {
                return Err(Failure::bad_input(format!(
                    "sysctl {name} cannot be \"{value}\""
                )));
            }
            result => result.attempt(format!("set {name} in {}", netns.label))?,
        }
    }
    Ok(())
}

/// Attaches the congestion control if the kernel does not have it. Records it in the state file
/// before attaching it.
fn attach(
    chosen: &Chosen,
    state: &mut State,
    noted: fn(&mut State) -> &mut Option<String>,
) -> Result<(), Failure> {
    let Some(request) = &chosen.attach else {
        return Ok(());
    };
    *noted(state) = Some(chosen.name.clone());
    state.save()?;
    let attached = request.run();
    if attached.is_err() {
        // attaching failed: remove the record, because the name may belong to another process's
        // congestion control
        *noted(state) = None;
        state.save()?;
    }
    attached.map(drop)
}

/// Sets the default congestion control of each host. One that the kernel does not allow in other
/// namespaces is temporarily allowed in all. The state file records this permission first.
fn set_control(state: &mut State) -> Result<(), Failure> {
    let mut groups: BTreeMap<String, Vec<HostState>> = BTreeMap::new();
    for host in &state.hosts {
        let control = state.control_of(host).to_owned();
        groups.entry(control).or_default().push(host.clone());
    }
    groups
        .iter()
        .try_for_each(|(control, hosts)| set_control_of(hosts, control, state))
}

fn set_control_of(hosts: &[HostState], control: &str, state: &mut State) -> Result<(), Failure> {
    let set_all = || -> Result<io::Result<()>, Failure> {
        for host in hosts {
            let result = Netns::find(&host.namespace)?.set_default_control(control);
            if result.is_err() {
                return Ok(result);
            }
        }
        Ok(Ok(()))
    };
    let mut result = set_all()?;
    let is_restricted = |r: &io::Result<()>| {
        r.as_ref()
            .is_err_and(|e| e.kind() == io::ErrorKind::PermissionDenied)
    };
    if is_restricted(&result) {
        state.allowed_control = Some(control.to_owned());
        state.save()?;
        let controls = rundir::lock_machine()?;
        down::allow(control)?;
        result = set_all()?;
        down::forbid(control)?;
        drop(controls);
        state.allowed_control = None;
        state.save()?;
    }
    result.map_err(|e| {
        let available = fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control")
            .unwrap_or_default();
        Failure::bad_input(format!(
            "cannot make {control} the congestion control: {e}; this kernel has {}; \
             `headwayctl attach` adds Headway's",
            available.trim()
        ))
    })
}

/// Starts the emulator's process, and waits until it has created the hosts' devices.
fn start_emulator(lock: &Lock, state: &mut State) -> Result<Child, Failure> {
    let what = "start the emulator";
    let errors_file = state::errors_file(&state.name);
    let errors = fs::File::create(&errors_file).attempt(what)?;
    let mut command = Command::new(std::env::current_exe().attempt(what)?);
    command
        .args(["testbed", "emulator", &state.name])
        .args(["--lock-fd", &lock.fd().to_string()])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(errors);
    with_lock(&mut command, lock);
    let mut child = command.spawn().attempt(what)?;
    state.emulator = Process::find(child.id() as i32);
    state.save()?;
    let mut line = String::new();
    if let Some(stdout) = child.stdout.take() {
        BufReader::new(stdout).read_line(&mut line).attempt(what)?;
    }
    if line.trim() == daemon::READY {
        return Ok(child);
    }
    let _ = child.wait();
    let text = fs::read_to_string(&errors_file).unwrap_or_default();
    let text = text.trim().trim_start_matches("headwayctl: ");
    Err(Failure::failed(format!("cannot {what}: {text}")))
}

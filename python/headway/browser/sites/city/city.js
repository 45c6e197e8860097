// A city to walk through. Quarters come when somebody is near: first far, then in full detail.
//
// "?walk=whole" replays the recorded walk, "short" its first part; "connections" is 1 or 6, "fps"
// how often is drawn at most, "target" in how many milliseconds a pack is wanted. `city.told()` has
// every object's response time. What does not arrive whole is an error of the page's.
import * as THREE from "three";
import { GLTFLoader } from "three/addons/loaders/GLTFLoader.js";
import { scenery } from "./scenery.js";

const query = new URLSearchParams(location.search);
const connections = Number(query.get("connections") ?? 1);
const fps = Number(query.get("fps") ?? 60);
const target = query.get("target");
const [world, recorded] = await Promise.all(
  ["world.json", "walk.json"].map(async name => (await fetch(name)).json()));
const walk = recorded[query.get("walk")];

const REACH_M = { far: 1100, near: 420 };
const view = document.getElementById("view");
const renderer = new THREE.WebGLRenderer({ canvas: view, antialias: true });
const camera = new THREE.PerspectiveCamera(58, 1, 1, 9000);
const scene = new THREE.Scene();
const quarters = world.filter(one => one.detail === "near");
scenery(scene, quarters);

// every tile is a level of detail of its own: near replaces far as it comes
const lods = new Map();
const reader = new GLTFLoader();
const told = [], packs = new Map();
let waiting = 0, tiles = 0, bytes = 0, reading = Promise.resolve();

const loader = new Worker("loader.js");
loader.onerror = ({ message }) => reportError(new Error(`loader.js: ${message}`));
loader.onmessage = ({ data }) => {
  if (data.wrong) {
    reportError(new Error(data.wrong));
    return;
  }
  const one = { path: data.path, bytes: data.bytes,
    asked_ms: data.since - performance.timeOrigin, done_ms: data.done - performance.timeOrigin };
  told.push(one);
  if (!data.file) {
    packs.get(data.pack).done = one;
    waiting--;
    respond(packs.get(data.pack));
    return;
  }
  tiles++;
  bytes += data.bytes;
  // one at a time: what is drawn later must not keep the network's threads from the processor
  reading = reading.then(() => show(data.path, data.file))
    .catch(error => reportError(new Error(`${data.path}: ${error.message}`)));
};

async function show(path, file) {
  const { scene: tile } = await reader.parseAsync(file, "");
  const [, , quarter, detail, number] = path.split("/");
  const key = `${quarter}/${number}`;
  const place = world.find(one => one.name === quarter);
  if (!lods.has(key)) {
    const lod = new THREE.LOD();
    lods.set(key, lod);
    scene.add(lod);
  }
  const lod = lods.get(key);
  const middle = new THREE.Vector3(place.at[0], 0, place.at[1]);
  // levels measure from the object's own place, its corners are the world's
  lod.position.copy(middle);
  tile.position.sub(middle);
  lod.addLevel(tile, detail === "near" ? 0 : lod.levels.length ? 700 : 0);
  if (lod.levels.length > 1) {
    for (const level of lod.levels) {
      level.distance = level.object === tile === (detail === "near") ? 0 : 900;
    }
    lod.levels.sort((a, b) => a.distance - b.distance);
  }
}

function ask(pack) {
  packs.set(pack.pack, { ...pack, since: performance.now() });
  waiting++;
  loader.postMessage({ pack, connections, target });
}

// what is missing from here, the nearest first; by a timer, so that drawing does not decide it
let isOver = false, begun = null;
function look() {
  const seconds = begun === null ? 0 : (performance.now() - begun) / 1000;
  if (walk) follow(seconds);
  const near = ({ at, side }) => Math.max(
    Math.abs(at[0] - camera.position.x), Math.abs(at[1] - camera.position.z)) - side / 2;
  const missing = world.filter(one => !packs.has(one.pack) && near(one) < REACH_M[one.detail]);
  missing.sort((a, b) => near(a) - near(b)).forEach(ask);
  if (walk && seconds > walk.at(-1).t && !waiting && !isOver) {
    reading.then(() => requestAnimationFrame(() => { isOver = true; }));
  }
}

function follow(seconds) {
  const next = Math.max(1, walk.findIndex(key => key.t > seconds));
  const [from, to] = seconds >= walk.at(-1).t ? [walk.at(-1), walk.at(-1)]
    : [walk[next - 1], walk[next]];
  const part = to.t > from.t ? (seconds - from.t) / (to.t - from.t) : 0;
  const smooth = part * part * (3 - 2 * part);
  const between = name => new THREE.Vector3(...from[name])
    .lerp(new THREE.Vector3(...to[name]), smooth);
  camera.position.copy(between("at"));
  camera.lookAt(between("to"));
}

// somebody's own walk, which R records in the form of walk.json
const held = new Set();
let turn = 0, tilt = 0, keys = null;
addEventListener("keydown", event => {
  held.add(event.code);
  if (event.code === "KeyR" && !walk) {
    if (keys) console.log(JSON.stringify(keys));
    keys = keys ? null : [];
  }
});
addEventListener("keyup", event => held.delete(event.code));
addEventListener("mousemove", event => {
  if (walk || !event.buttons) return;
  turn -= event.movementX / 400;
  tilt = Math.max(-1.2, Math.min(1.2, tilt - event.movementY / 400));
});
function steer(seconds) {
  const ahead = new THREE.Vector3(
    -Math.sin(turn) * Math.cos(tilt), Math.sin(tilt), -Math.cos(turn) * Math.cos(tilt));
  const aside = new THREE.Vector3(Math.cos(turn), 0, -Math.sin(turn));
  const is = (...codes) => codes.some(code => held.has(code));
  const step = 90 * seconds;
  if (is("KeyW", "ArrowUp")) camera.position.addScaledVector(ahead, step);
  if (is("KeyS", "ArrowDown")) camera.position.addScaledVector(ahead, -step);
  if (is("KeyA", "ArrowLeft")) camera.position.addScaledVector(aside, -step);
  if (is("KeyD", "ArrowRight")) camera.position.addScaledVector(aside, step);
  camera.position.y = Math.max(3, camera.position.y);
  const to = camera.position.clone().add(ahead);
  camera.lookAt(to);
  keys?.push({ t: (performance.now() - begun) / 1000, at: camera.position.toArray(), to: to.toArray() });
}

const text = (id, value) => { document.getElementById(id).textContent = value; };
function respond(pack) {
  const seconds = (pack.done.done_ms - pack.done.asked_ms) / 1000;
  const row = document.createElement("li");
  row.innerHTML = "<span></span><i></i><b></b>";
  row.children[0].textContent = `${pack.title}, ${pack.detail}`;
  row.children[1].style.width = `${Math.min(100, 14 * Math.sqrt(seconds * 10))}%`;
  row.children[2].textContent = `${seconds.toFixed(2)} s`;
  document.getElementById("responses").prepend(row);
}
function panel() {
  const here = quarters.map(one => [Math.hypot(
    one.at[0] - camera.position.x, one.at[1] - camera.position.z), one.title]).sort((a, b) => a[0] - b[0]);
  text("place", here[0][1]);
  const open = [...packs.values()].filter(one => !one.done);
  text("state", open.length ? `${open[0].title} arrives, ${open[0].detail}` : "all that is near is here");
  text("volume", `${(bytes / 1e6).toFixed(1)} MB`);
  text("tiles", tiles);
  text("time", `${((performance.now() - begun) / 1000).toFixed(1)} s`);
}

let drawn = -Infinity;
function draw(time) {
  requestAnimationFrame(draw);
  if (time - drawn < 1000 / fps - 2) return;
  const passed = Math.min(0.1, (time - drawn) / 1000);
  drawn = time;
  if (!walk) steer(passed);
  const { innerWidth, innerHeight } = window;
  if (view.width !== innerWidth || view.height !== innerHeight) {
    renderer.setSize(innerWidth, innerHeight, false);
    camera.aspect = innerWidth / innerHeight;
    camera.updateProjectionMatrix();
  }
  renderer.render(scene, camera);
  panel();
}

camera.position.set(-260, 60, 330);
turn = -0.7;
begun = performance.now();
document.getElementById("help").hidden = Boolean(walk);
setInterval(look, 50);
requestAnimationFrame(draw);

window.city = {
  get isOver() { return isOver; },
  told: () => ({ walk_ms: performance.now() - begun, begun_ms: begun, bytes, objects: told }),
};

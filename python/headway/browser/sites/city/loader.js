// Fetches packs away from the page's own thread, so that drawing delays no time that is told.
//
// One connection: a pack is one request, and its tiles are handed on as they arrive; what is asked
// meanwhile waits. Six: each tile is a request of its own for its part of the pack. A target goes with
// every request: headers that a browser is told to add do not reach a worker's.
const asked = [];
let connections = 1, target = null, isBusy = false;

const now = () => performance.timeOrigin + performance.now();

onmessage = ({ data }) => {
  ({ connections, target } = data);
  asked.push({ pack: data.pack, since: now() });
  if (!isBusy) next();
};

async function next() {
  isBusy = true;
  while (asked.length) {
    const one = asked.shift();
    try {
      await (connections === 1 ? whole(one) : inParts(one));
    } catch (error) {
      postMessage({ wrong: `${one.pack.pack}: ${error.message}` });
    }
  }
  isBusy = false;
}

async function get(path, range) {
  const headers = { ...range && { Range: `bytes=${range}` }, ...target && { "Response-Deadline": target } };
  const response = await fetch(path, { headers, cache: "no-store" });
  if (!response.ok) throw new Error(`status ${response.status}`);
  if (range && response.status !== 206) throw new Error("the server sends no parts");
  return response;
}

function tell(pack, path, bytes, since, file) {
  postMessage({ pack: pack.pack, path, bytes, since, done: now(), file }, file ? [file] : []);
}

async function whole({ pack, since }) {
  const reader = (await get(pack.pack)).body.getReader();
  let pieces = [], waiting = 0, tiles = null, at = 0;
  const take = bytes => {
    const taken = new Uint8Array(bytes);
    for (let filled = 0; filled < bytes;) {
      const part = pieces[0].subarray(0, bytes - filled);
      taken.set(part, filled);
      filled += part.length;
      if (part.length === pieces[0].length) pieces.shift();
      else pieces[0] = pieces[0].subarray(part.length);
    }
    waiting -= bytes;
    return taken;
  };
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    pieces.push(value);
    waiting += value.length;
    if (!tiles) {
      // the first line; it is far smaller than what a first read brings, or else more is awaited
      const seen = new Uint8Array(await new Blob(pieces).arrayBuffer());
      const end = seen.indexOf(10);
      if (end < 0) continue;
      tiles = JSON.parse(new TextDecoder().decode(take(end + 1)));
    }
    while (at < tiles.length && waiting >= tiles[at][1]) {
      const [path, bytes] = tiles[at++];
      tell(pack, path, bytes, since, take(bytes).buffer);
    }
  }
  if (!tiles || at < tiles.length) throw new Error(`it ends after ${at} of its tiles`);
  tell(pack, pack.pack, pack.bytes, since, null);
}

async function inParts({ pack, since }) {
  const seen = new Uint8Array(await (await get(pack.pack, "0-65535")).arrayBuffer());
  const end = seen.indexOf(10) + 1;
  const tiles = JSON.parse(new TextDecoder().decode(seen.subarray(0, end)));
  let from = end;
  await Promise.all(tiles.map(async ([path, bytes]) => {
    const range = `${from}-${from + bytes - 1}`;
    from += bytes;
    const file = await (await get(pack.pack, range)).arrayBuffer();
    if (file.byteLength !== bytes) throw new Error(`${path} ends after ${file.byteLength} bytes`);
    tell(pack, path, bytes, since, file);
  }));
  tell(pack, pack.pack, pack.bytes, since, null);
}

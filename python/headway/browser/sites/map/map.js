/* The map itself: tiles around the middle of the window, and how long the page took. */
var TILES_ACROSS = 7, TILES_DOWN = 5, TILE_PX = 256;

function showMap(map) {
  var left = Math.round((map.clientWidth - TILES_ACROSS * TILE_PX) / 2);
  var top = Math.round((map.clientHeight - TILES_DOWN * TILE_PX) / 2);
  for (var y = 0; y < TILES_DOWN; y++) {
    for (var x = 0; x < TILES_ACROSS; x++) {
      var tile = new Image();
      tile.alt = "";
      tile.style.left = left + x * TILE_PX + "px";
      tile.style.top = top + y * TILE_PX + "px";
      tile.src = "tiles/" + x + "-" + y + ".png";
      map.appendChild(tile);
    }
  }
}

window.addEventListener("load", function () {
  setTimeout(function () {
    var load = performance.getEntriesByType("navigation")[0];
    var objects = performance.getEntriesByType("resource").concat(load);
    var bytes = objects.reduce(function (sum, one) { return sum + one.encodedBodySize; }, 0);
    document.getElementById("time").textContent = (load.loadEventStart / 1000).toFixed(2) + " s";
    document.getElementById("objects").textContent = objects.length;
    document.getElementById("volume").textContent = (bytes / 1e6).toFixed(2) + " MB";
  }, 0);
});

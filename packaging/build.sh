#!/usr/bin/env bash
# Packs a built headwayctl as an archive and, with the tools of dpkg-dev, as a Debian package.
#   build.sh PROGRAM FOLDER      prints the paths
# DEB_VERSION is the package's version. By default it is the program's version; if the commit does not
# have this version's tag, the commit is added. DEBFULLNAME and DEBEMAIL name the maintainer, as usual in
# Debian.
set -euo pipefail
[ -x "$1" ] || {
	echo "headwayctl is not packed: $1 is missing; make headwayctl builds it, or says what that needs" >&2
	exit 3
}
program=$(realpath "$1") out=$(mkdir -p "$2" && realpath "$2")
here=$(dirname "$(realpath "$0")")
cd "$here/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
umask 022
: "${SOURCE_DATE_EPOCH:=$(git log -1 --format=%ct 2>/dev/null || date +%s)}"
export SOURCE_DATE_EPOCH # builds of one commit are identical, bit for bit

# the program, its man pages and completions, and its licences
root=$work/root
mkdir -p "$root/usr/bin"
strip --strip-unneeded --remove-section=.comment --remove-section=.note -o "$work/stripped" "$program"
"$here/stamp.py" "$work/stripped" "$root/usr/bin/headwayctl"
"$root/usr/bin/headwayctl" pages "$root/usr/share" >/dev/null
python3 "$here/copyright.py" headway-kernel >"$work/copyright"
read -r _ released _ < <("$program" --version)

archive=headwayctl-$released-$(uname -m)-linux
mkdir "$work/$archive"
cp -r "$root/usr/bin/headwayctl" "$root/usr/share" LICENSE "$work/copyright" "$work/$archive/"
tar --create --directory "$work" --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 \
	--numeric-owner "$archive" | gzip --best --no-name >"$out/$archive.tar.gz"
echo "$out/$archive.tar.gz"

for tool in dpkg-deb dpkg-shlibdeps dpkg-gencontrol; do
	command -v $tool >/dev/null || {
		echo "the .deb is left out: $tool is missing (Debian: apt-get install dpkg-dev)" >&2
		exit 0
	}
done
if [ -z "${DEB_VERSION:-}" ]; then
	DEB_VERSION=$released-1
	if commit=$(git rev-parse --short=8 HEAD 2>/dev/null) && [ -z "$(git tag --points-at HEAD "v$released")" ]; then
		# this version sorts before the release and after those of earlier commits
		DEB_VERSION=$released~git$(date --utc --date="@$SOURCE_DATE_EPOCH" +%Y%m%d%H%M%S).$commit-1
	fi
fi
maintainer="${DEBFULLNAME:-The Headway founders} <${DEBEMAIL:-headway@headway.invalid}>"

mkdir -p "$work/debian" "$root/DEBIAN"
sed "s|@MAINTAINER@|$maintainer|" "$here/debian/control" >"$work/debian/control"
cat >"$work/debian/changelog" <<CHANGES
headway ($DEB_VERSION) unstable; urgency=medium

  * Headway $released${commit:+ as of commit $commit}; what changed is in changelog.gz.

 -- $maintainer  $(date --utc --rfc-email --date="@$SOURCE_DATE_EPOCH")
CHANGES

# further files to install
# the folder where Debian's zsh looks for completions of packages
mv "$root/usr/share/zsh/site-functions" "$root/usr/share/zsh/vendor-completions"
install -D -m 644 "$here/headway-pep.service" "$root/lib/systemd/system/headway-pep.service"
install -D -m 644 "$here/debian/pep.env" "$root/etc/headway/pep.env"
doc=$root/usr/share/doc/headwayctl
mkdir -p "$doc"
cp CHANGELOG.md "$doc/changelog"
cp "$work/debian/changelog" "$doc/changelog.Debian"
gzip --best --no-name "$doc"/changelog* "$root"/usr/share/man/man1/*
cp "$work/copyright" "$doc/copyright"
if [ -e "$here/debian/lintian-overrides" ]; then
	install -D -m 644 "$here/debian/lintian-overrides" "$root/usr/share/lintian/overrides/headwayctl"
fi

# control files for dpkg
cd "$work"
libraries=$(dpkg-shlibdeps -O --warnings=0 -e"$root/usr/bin/headwayctl")
echo "$libraries" >debian/substvars
for script in preinst postinst prerm postrm; do
	[ ! -e "$here/debian/$script" ] || install "$here/debian/$script" "$root/DEBIAN/$script"
done
echo /etc/headway/pep.env >"$root/DEBIAN/conffiles"
(cd "$root" && find lib usr -type f -print0 | LC_ALL=C sort -z | xargs -0 md5sum) >"$root/DEBIAN/md5sums"
dpkg-gencontrol -p"headwayctl" -P"$root" -v"$DEB_VERSION" -Tdebian/substvars -fdebian/files
dpkg-deb --root-owner-group --build "$root" "$out" >/dev/null
echo "$out/$(cut -d' ' -f1 debian/files)"

#!/bin/sh
# usage: tests/release.sh [-m MIRROR] [-d FOLDER] [-c COMMAND] [SUITE...] - the two commands of README.md on a bare Debian
#
# By hand, as root, before each release. For each suite (bookworm and trixie, unless others are named) debootstrap makes a
# system of its variant minbase in a new folder. The commands run there, in a clone of HEAD, and reach nothing else of this
# machine but its network and its kernel. The status is 0 if all commands of all suites succeed.
#   -m MIRROR   a mirror of Debian's archive, http://deb.debian.org/debian without it
#   -d FOLDER   the folder in which the systems are made and removed; it needs 3 GB and permits devices and programs
#   -c COMMAND  runs in place of README's second command, to repeat tests that failed
set -u
mirror=http://deb.debian.org/debian folder=/var/tmp second=

fail() {
	echo "tests/release.sh: $*" >&2
	exit 2
}

# Prints the indented lines of README.md above its first section: the commands.
commands() {
	sed -n '/^## /q; s/^    //p' README.md
}

# Removes the system that is being tested. Its mounts ended with their namespace.
clean() {
	[ -z "$root" ] || rm -rf --one-file-system "$root"
	root=
}

# bare COMMAND: runs it in the clone, as a user of a new machine would, with the file systems that every machine has
bare() {
	env -i unshare --mount --pid --fork --kill-child sh -ec '
		mount -t proc proc "$1/proc"
		mount -t devpts -o newinstance,ptmxmode=666 devpts "$1/dev/pts"
		mount -t tmpfs tmpfs "$1/dev/shm"
		export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root DEBIAN_FRONTEND=noninteractive
		exec chroot "$1" sh -c "cd /root/kiln; $2"' sh "$root" "$1" </dev/null
}

# tested SUITE: makes the system and runs both commands
tested() {
	root=$(mktemp -d "$folder/kiln.$1.XXXXXX") || exit 2
	chmod 755 "$root"
	unshare --mount debootstrap --variant=minbase "$1" "$root" "$mirror" >&2 || return 1
	git clone -q --no-hardlinks . "$root/root/kiln" && bare "$(commands | sed -n 1p)" && bare "${second:-$(commands | sed -n 2p)}"
}

while getopts m:d:c: option; do
	case $option in
	m) mirror=$OPTARG ;;
	d) folder=$OPTARG ;;
	c) second=$OPTARG ;;
	*) sed -n 's/^# usage: //p' "$0" >&2; exit 2 ;;
	esac
done
shift $((OPTIND - 1))
[ $# -gt 0 ] || set -- bookworm trixie
cd "$(dirname "$0")/.." || exit 2
[ "$(id -u)" = 0 ] || fail 'root is needed, to make a system and run commands in it'
for program in debootstrap unshare git; do
	command -v $program >/dev/null || fail "$program is missing"
done
[ "$(commands | wc -l)" = 2 ] || fail "README.md has $(commands | wc -l) commands above its first section, and two are expected"
[ -z "$(git status --porcelain --untracked-files=no)" ] || echo 'tests/release.sh: HEAD is tested, without the changes that are not committed'
root='' bad=0
trap clean EXIT
trap 'exit 1' INT TERM HUP
for suite; do
	start=$(date +%s)
	if tested "$suite"; then said='both commands succeed'; else said='FAILED' bad=1; fi
	clean
	echo "$suite: $said, $(($(date +%s) - start)) s"
done
exit $bad

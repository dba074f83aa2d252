#!/bin/sh
# Runs a command that finds no programs but those of a folder that installed_only.sh has filled; all of
# them where it could not. Usage: with_programs.sh FOLDER COMMAND [ARGUMENT...]
set -u
[ ! -e "$1/sh" ] || PATH=$1
export PATH
shift
exec "$@"

#!/bin/sh
# Runs a command that finds only the programs of a folder that installed_only.sh has filled. If that
# folder is not filled, the command finds all programs. Usage: with_programs.sh FOLDER COMMAND
# [ARGUMENT...]
set -u
[ ! -e "$1/sh" ] || PATH=$1
export PATH
shift
exec "$@"

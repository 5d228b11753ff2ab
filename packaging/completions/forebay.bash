# SPDX-License-Identifier: Apache-2.0
#
# Completes command lines of forebay in bash 4.4 or newer. The command itself returns the proposals,
# one `type,value` a line.
_forebay() {
  local type value
  COMPREPLY=()
  while IFS=, read -r type value; do
    case $type in
      plain) COMPREPLY+=("$value") ;;
      dir) compopt -o dirnames ;;
      file) compopt -o default ;;
    esac
  done < <(COMP_WORDS="${COMP_WORDS[*]}" COMP_CWORD=$COMP_CWORD _FOREBAY_COMPLETE=bash_complete \
    "$1" 2>/dev/null)
}
complete -o nosort -F _forebay forebay

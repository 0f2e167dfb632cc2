; A player walks in a grid and pushes boxes. The player's own cell is not clear.
(define (domain sokoban)
  (:requirements :strips :typing)
  (:types cell direction box)
  (:predicates (next ?x ?y - cell ?d - direction) (player-at ?x - cell) (at ?b - box ?x - cell) (clear ?x - cell))
  (:action walk
    :parameters (?from ?to - cell ?d - direction)
    :precondition (and (next ?from ?to ?d) (player-at ?from) (clear ?to))
    :effect (and (player-at ?to) (clear ?from) (not (player-at ?from)) (not (clear ?to))))
  (:action push
    :parameters (?b - box ?from ?to ?beyond - cell ?d - direction)
    :precondition (and (next ?from ?to ?d) (next ?to ?beyond ?d) (player-at ?from) (at ?b ?to) (clear ?beyond))
    :effect (and (player-at ?to) (at ?b ?beyond) (clear ?from)
      (not (player-at ?from)) (not (at ?b ?to)) (not (clear ?beyond)))))

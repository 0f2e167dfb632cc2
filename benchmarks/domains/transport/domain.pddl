; Vehicles with little room carry packages; every road costs its length.
(define (domain transport)
  (:requirements :typing :action-costs)
  (:types place locatable number - object vehicle package - locatable)
  (:predicates (road ?x ?y - place) (at ?x - locatable ?p - place) (in ?x - package ?v - vehicle)
    (room ?v - vehicle ?n - number) (more ?few ?many - number))
  (:functions (length ?x ?y - place) - number (total-cost) - number)
  (:action drive
    :parameters (?v - vehicle ?from ?to - place)
    :precondition (and (at ?v ?from) (road ?from ?to))
    :effect (and (not (at ?v ?from)) (at ?v ?to) (increase (total-cost) (length ?from ?to))))
  (:action pick-up
    :parameters (?v - vehicle ?p - place ?x - package ?few ?many - number)
    :precondition (and (at ?v ?p) (at ?x ?p) (more ?few ?many) (room ?v ?many))
    :effect (and (not (at ?x ?p)) (in ?x ?v) (room ?v ?few) (not (room ?v ?many)) (increase (total-cost) 1)))
  (:action drop
    :parameters (?v - vehicle ?p - place ?x - package ?few ?many - number)
    :precondition (and (at ?v ?p) (in ?x ?v) (more ?few ?many) (room ?v ?few))
    :effect (and (not (in ?x ?v)) (at ?x ?p) (room ?v ?many) (not (room ?v ?few)) (increase (total-cost) 1))))

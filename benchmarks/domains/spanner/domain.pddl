; Bob walks one way, picks up spanners that break when used, and tightens nuts at the gate: a world of dead ends.
(define (domain spanner)
  (:requirements :strips :typing)
  (:types location locatable - object man nut spanner - locatable)
  (:predicates (at ?x - locatable ?l - location) (carrying ?m - man ?s - spanner) (usable ?s - spanner)
    (link ?x ?y - location) (tight ?n - nut) (loose ?n - nut))
  (:action walk
    :parameters (?from ?to - location ?m - man)
    :precondition (and (at ?m ?from) (link ?from ?to))
    :effect (and (not (at ?m ?from)) (at ?m ?to)))
  (:action pick-up
    :parameters (?l - location ?s - spanner ?m - man)
    :precondition (and (at ?m ?l) (at ?s ?l))
    :effect (and (not (at ?s ?l)) (carrying ?m ?s)))
  (:action tighten
    :parameters (?l - location ?s - spanner ?m - man ?n - nut)
    :precondition (and (at ?m ?l) (at ?n ?l) (carrying ?m ?s) (usable ?s) (loose ?n))
    :effect (and (not (loose ?n)) (not (usable ?s)) (tight ?n))))

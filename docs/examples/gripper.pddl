(define (domain gripper)
  (:requirements :strips :typing :equality :negative-preconditions)
  (:types room ball hand)
  (:predicates (robot-at ?r - room) (in ?b - ball ?r - room) (free ?h - hand) (carry ?b - ball ?h - hand))
  (:action move
    :parameters (?from ?to - room)
    :precondition (and (robot-at ?from) (not (= ?from ?to)))
    :effect (and (robot-at ?to) (not (robot-at ?from))))
  (:action pick
    :parameters (?b - ball ?r - room ?h - hand)
    :precondition (and (in ?b ?r) (robot-at ?r) (free ?h))
    :effect (and (carry ?b ?h) (not (in ?b ?r)) (not (free ?h))))
  (:action drop
    :parameters (?b - ball ?r - room ?h - hand)
    :precondition (and (carry ?b ?h) (robot-at ?r))
    :effect (and (in ?b ?r) (free ?h) (not (carry ?b ?h)))))

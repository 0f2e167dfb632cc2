; Robots with two hands carry balls between rooms. Untyped: what a thing is, is a static atom.
(define (domain gripper)
  (:requirements :strips)
  (:predicates (room ?r) (ball ?b) (hand ?h) (robot-in ?r) (in ?b ?r) (empty ?h) (held ?b ?h))
  (:action walk
    :parameters (?from ?to)
    :precondition (and (room ?from) (room ?to) (robot-in ?from))
    :effect (and (robot-in ?to) (not (robot-in ?from))))
  (:action grasp
    :parameters (?ball ?room ?hand)
    :precondition (and (ball ?ball) (room ?room) (hand ?hand) (in ?ball ?room) (robot-in ?room) (empty ?hand))
    :effect (and (held ?ball ?hand) (not (in ?ball ?room)) (not (empty ?hand))))
  (:action release
    :parameters (?ball ?room ?hand)
    :precondition (and (ball ?ball) (room ?room) (hand ?hand) (held ?ball ?hand) (robot-in ?room))
    :effect (and (in ?ball ?room) (empty ?hand) (not (held ?ball ?hand)))))
